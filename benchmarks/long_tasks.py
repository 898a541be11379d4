"""Measure the long tasks of the player's page while a result is shown, on a slowed CPU.

Run it with `make bench-screens` or `python benchmarks/long_tasks.py`. A house deals rounds with
chips of two players on every box; a real browser shows them on a desk and on a phone, with its CPU
slowed four times. Every task of the page's main thread, from the close of betting to the payment,
is taken from the browser's trace. A task that takes longer than 50 ms is a long task.

Two figures are printed for each: the time that passed, which includes the time in which other
programs had the processor, and the CPU time of the thread. On a busy machine only the second one
counts.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

sys.path.insert(0, str(Path(__file__).parent.parent))  # when run as a file, this is in no package

from playwright.sync_api import expect
from tests.screens.browser import BrowserUser, launch_browser
from tests.screens.house import House, house_toml

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Browser, Page

GAMES = {
    "a": "sg-rws-tai-sai-v6/a",
    "c": "sg-rws-tai-sai-v6/c",
    "e": "sg-rws-tai-sai-v6/e",
    "mat": "triple-dice/mat",
}
SIZES = ("desk", "phone")
ROLL = (1, 4, 5)
LONG_MS = 50
TASK = "ThreadControllerImpl::RunTask"
MARK = "step "
OWN_BET, OTHER_BET = 1500, 1200
SETTLE_MS = 2000
"""How long a step is watched: longer than the animation that it starts."""


@dataclass(frozen=True)
class Task:
    """A task of the page's main thread, in milliseconds of real time and of CPU time."""

    step: str
    wall: float
    cpu: float


def main() -> None:
    """Measure the chosen layouts and screens, and print a line for each."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--layout", choices=GAMES, action="append", help="default: a and e")
    parser.add_argument("--size", choices=SIZES, action="append", help="default: both")
    parser.add_argument("--rounds", type=int, default=3, help="rounds for each (default: 3)")
    parser.add_argument("--rate", type=float, default=4, help="how many times slower (default: 4)")
    chosen = parser.parse_args()
    layouts = chosen.layout or ["a", "e"]
    print(f"tasks over {LONG_MS} ms while a result is shown, CPU slowed {chosen.rate:g} times")
    print("layout  screen    long  longest  long, CPU  longest, CPU  at")
    with (
        tempfile.TemporaryDirectory() as folder,
        launch_browser() as browser,
        House(Path(folder), house_toml({name: GAMES[name] for name in layouts}, "refuse")) as house,
    ):
        for layout in layouts:
            house.pass_checks(layout)
            for user in ("player", "player2"):
                house.buy_in(layout, user, amount=20_000_000)
            for size in chosen.size or SIZES:
                tasks = list(measure(browser, house, layout, size, chosen.rounds, chosen.rate))
                print_line(layout, size, tasks)


def print_line(layout: str, size: str, tasks: list[Task]) -> None:
    """Print how many tasks were long, the longest, and the step that it belongs to."""
    wall, cpu = max(task.wall for task in tasks), max(tasks, key=lambda task: task.cpu)
    long_wall = sum(task.wall > LONG_MS for task in tasks)
    long_cpu = sum(task.cpu > LONG_MS for task in tasks)
    print(
        f"{layout:8}{size:8}{long_wall:6}{wall:9.0f}{long_cpu:11}{cpu.cpu:14.0f}  {cpu.step}",
        flush=True,
    )


def measure(
    browser: Browser, house: House, layout: str, size: str, rounds: int, rate: float
) -> Iterator[Task]:
    """Deal rounds, and yield every task of the page from the close of betting to the payment."""
    user = BrowserUser(browser, house, size)
    page = user.sign_in("player", f"/table/{layout}")
    expect(page.get_by_test_id("phase")).to_be_visible()
    play(house, layout, page)  # the first round loads the parts of the page that it needs
    throttle = user.context.new_cdp_session(page)
    for _ in range(rounds):
        bet_on_every_box(house, layout, page)
        throttle.send("Emulation.setCPUThrottlingRate", {"rate": rate})
        browser.start_tracing(page=page, categories=["toplevel", "blink.user_timing"])
        show_result(house, layout, page, marks=True)
        trace = json.loads(browser.stop_tracing())
        throttle.send("Emulation.setCPUThrottlingRate", {"rate": 1})
        yield from tasks_in(trace["traceEvents"])
    user.close()


def play(house: House, table: str, page: Page) -> None:
    """Deal a round without measuring it."""
    bet_on_every_box(house, table, page)
    show_result(house, table, page, marks=False)


def bet_on_every_box(house: House, table: str, page: Page) -> None:
    """Place chips of another player on every box, and of this one on every third."""
    procedure = house.get(f"/api/tables/{table}/game")["conduct"]
    house.deal(table, ROLL, until="close-betting")
    shooter = (procedure.get("shooter") or {}).get("box")
    for i, box in enumerate(house.get(f"/api/tables/{table}/game")["boxes"]):
        if box["id"] == shooter:
            continue
        bettors = [("player2", OTHER_BET)] + ([("player", OWN_BET)] if i % 3 == 0 else [])
        for name, amount in bettors:
            player = house.account_id(name)
            house.send(name, table, "PlaceBet", player=player, box=box["id"], amount=amount)
    version = str(house.get(f"/api/tables/{table}", "player")["version"])
    expect(page.get_by_test_id("version")).to_have_text(version)
    page.wait_for_timeout(SETTLE_MS)


def show_result(house: House, table: str, page: Page, *, marks: bool) -> None:
    """Take the steps from the close of betting, each marked in the trace."""
    order = house.get(f"/api/tables/{table}/game")["conduct"]["procedure"]["order"]
    for step in order[order.index("close-betting") :]:
        if marks:
            page.evaluate("(name) => performance.mark(name)", MARK + step)
        house.take_step(table, step, ROLL)
        page.wait_for_timeout(SETTLE_MS)
    expect(page.get_by_test_id("net")).to_have_attribute("data-settled", "true")


def tasks_in(events: list[dict[str, Any]]) -> Iterator[Task]:
    """Yield the tasks of the thread that set the marks, each with the step it belongs to."""
    marks = sorted((each["ts"], each["name"]) for each in events if each["name"].startswith(MARK))
    thread = next((e["pid"], e["tid"]) for e in events if e["name"].startswith(MARK))
    for each in events:
        if each["name"] != TASK or each["ph"] != "X" or (each["pid"], each["tid"]) != thread:
            continue
        before = [name for at, name in marks if at <= each["ts"]]
        if before:
            step = before[-1].removeprefix(MARK)
            yield Task(step, each["dur"] / 1000, each.get("tdur", each["dur"]) / 1000)


if __name__ == "__main__":
    main()
