"""Measure the long tasks of the player's page while a result is shown, on a slowed CPU.

Run it with `make bench-screens` or `python benchmarks/long_tasks.py`. A house deals rounds with
chips of two players on every box, at a table with many past results; a real browser shows them on
a desk and on a phone, with its CPU slowed four times. Every task of the page's main thread, from
the close of betting to the payment, is taken from the browser's trace. A task that takes longer
than 50 ms is a long task.

Two figures are printed for each: the time that passed, which includes the time in which other
programs had the processor, and the CPU time of the thread. On a busy machine only the second one
counts. The parts of the task with the most CPU time are named as the browser's developer tools
name them: FunctionCall is a script, UpdateLayoutTree the computation of styles.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

sys.path.insert(0, str(Path(__file__).parent.parent))  # when run as a file, this is in no package

from playwright.sync_api import expect
from tests.screens.browser import BrowserUser, launch_browser
from tests.screens.house import GAMES, House, Roll, house_toml

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Browser, Page

SIZES = ("desk", "phone")
ROLL = (1, 4, 5)
LONG_MS = 50
CATEGORIES = ["toplevel", "blink.user_timing", "devtools.timeline"]
TASK = "ThreadControllerImpl::RunTask"
MARK = "step "
OWN_BET, OTHER_BET = 1500, 1200
SETTLE_MS = {"call-result": 1800, "collect-losers": 1800, "pay-winners": 2000}
OTHER_SETTLE_MS = 900
"""How long a step is watched: longer than the animation that it starts."""
LOADED_MS = 20_000
"""How long a page is left alone after its first round: the browser cleans up after loading it."""
PARTS = 3
PAST_ROUNDS = 120
"""Rounds before the measured ones, so that the lists and roads of past results are full."""


@dataclass(frozen=True)
class Task:
    """A task of the page's main thread, in milliseconds of real time and of CPU time."""

    step: str
    wall: float
    cpu: float
    parts: Counter[str] = field(default_factory=Counter)
    """The CPU time of each part, without the parts in it."""

    def count_part(self, name: str, cpu: float, *, within: str) -> None:
        """Count a part, and subtract its time from the part around it."""
        self.parts.update({name: cpu})
        self.parts.subtract({within: cpu})


def main() -> None:
    """Measure the chosen layouts and screens, and print a line for each."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--layout", choices=GAMES, action="append", help="default: all")
    parser.add_argument("--size", choices=SIZES, action="append", help="default: both")
    parser.add_argument("--rounds", type=int, default=3, help="rounds for each (default: 3)")
    parser.add_argument("--rate", type=float, default=4, help="how many times slower (default: 4)")
    chosen = parser.parse_args()
    layouts = chosen.layout or list(GAMES)
    print(f"tasks over {LONG_MS} ms while a result is shown, CPU slowed {chosen.rate:g} times")
    print("layout      screen  long  longest  long, CPU  longest, CPU  at")
    with (
        tempfile.TemporaryDirectory() as folder,
        launch_browser() as browser,
        House(Path(folder), house_toml({name: GAMES[name] for name in layouts}, "refuse")) as house,
    ):
        for layout in layouts:
            house.pass_checks(layout)
            for user in ("player", "player2"):
                house.buy_in(layout, user, amount=2_000_000)
            deal_past_rounds(house, layout)
            for size in chosen.size or SIZES:
                tasks = list(measure(browser, house, layout, size, chosen.rounds, chosen.rate))
                print_line(layout, size, tasks)


def deal_past_rounds(house: House, table: str) -> None:
    """Deal rounds whose bets are only those that a shooter has to place."""
    for i in range(PAST_ROUNDS):
        roll = (i % 6 + 1, i // 6 % 6 + 1, i // 36 + 1)
        open_betting(house, table, roll)
        house.deal(table, roll)


def open_betting(house: House, table: str, roll: Roll) -> None:
    """Open betting, and bet for a shooter who has no bet yet."""
    house.deal(table, roll, until="close-betting")
    shooter = house.get(f"/api/tables/{table}")["shooter"]
    if shooter and not shooter["stake"]:
        place_bet(house, table, "player", shooter_box(house, table), OWN_BET)


def shooter_box(house: House, table: str) -> str:
    """Return the box of the shooter's bet, or nothing if the game has none."""
    conduct = house.get(f"/api/tables/{table}/game")["conduct"]
    return str(conduct["shooter"]["box"]) if conduct.get("shooter") else ""


def place_bet(house: House, table: str, user: str, box: str, amount: int) -> None:
    """Place a bet of a user."""
    house.send(user, table, "PlaceBet", player=house.account_id(user), box=box, amount=amount)


def print_line(layout: str, size: str, tasks: list[Task]) -> None:
    """Print how many tasks were long, and of the longest one its step and its largest parts."""
    wall, longest = max(task.wall for task in tasks), max(tasks, key=lambda task: task.cpu)
    long_wall = sum(task.wall > LONG_MS for task in tasks)
    long_cpu = sum(task.cpu > LONG_MS for task in tasks)
    parts = ", ".join(f"{name} {ms:.0f}" for name, ms in longest.parts.most_common(PARTS))
    print(
        f"{layout:12}{size:6}{long_wall:6}{wall:9.0f}{long_cpu:11}{longest.cpu:14.0f}"
        f"  {longest.step} ({parts})",
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
    page.wait_for_timeout(LOADED_MS)
    throttle = user.context.new_cdp_session(page)
    for _ in range(rounds):
        bet_on_every_box(house, layout, page)
        throttle.send("Emulation.setCPUThrottlingRate", {"rate": rate})
        browser.start_tracing(page=page, categories=CATEGORIES)
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
    open_betting(house, table, ROLL)
    boxes = [box["id"] for box in house.get(f"/api/tables/{table}/game")["boxes"]]
    locked = shooter_box(house, table)
    for i, box in enumerate(box for box in boxes if box != locked):
        place_bet(house, table, "player2", box, OTHER_BET)
        if i % 3 == 0:
            place_bet(house, table, "player", box, OWN_BET)
    version = str(house.get(f"/api/tables/{table}", "player")["version"])
    expect(page.get_by_test_id("version")).to_have_text(version)
    page.wait_for_timeout(OTHER_SETTLE_MS)


def show_result(house: House, table: str, page: Page, *, marks: bool) -> None:
    """Take the steps from the close of betting, each marked in the trace."""
    order = house.get(f"/api/tables/{table}/game")["conduct"]["procedure"]["order"]
    for step in order[order.index("close-betting") :]:
        if marks:
            page.evaluate("(name) => performance.mark(name)", MARK + step)
        house.take_step(table, step, ROLL)
        page.wait_for_timeout(SETTLE_MS.get(step, OTHER_SETTLE_MS))
    expect(page.get_by_test_id("net")).to_have_attribute("data-settled", "true")


def tasks_in(events: list[dict[str, Any]]) -> list[Task]:
    """Return the tasks of the thread that set the marks, each with the step it belongs to."""
    marks = sorted((each["ts"], each["name"]) for each in events if each["name"].startswith(MARK))
    thread = next((e["pid"], e["tid"]) for e in events if e["name"].startswith(MARK))
    own = [e for e in events if e["ph"] == "X" and (e["pid"], e["tid"]) == thread]
    tasks: list[Task] = []
    around: list[dict[str, Any]] = []
    for each in sorted(own, key=lambda event: (event["ts"], -event["dur"])):
        while around and around[-1]["ts"] + around[-1]["dur"] <= each["ts"]:
            around.pop()
        before = [name for at, name in marks if at <= each["ts"]]
        cpu = each.get("tdur", each["dur"]) / 1000
        if around:
            tasks[-1].count_part(each["name"], cpu, within=around[-1]["name"])
        elif each["name"] == TASK and before:
            task = Task(before[-1].removeprefix(MARK), each["dur"] / 1000, cpu)
            tasks.append(task)
        else:
            continue
        around.append(each)
    return tasks


if __name__ == "__main__":
    main()
