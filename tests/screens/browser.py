"""Chromium, users with a window of their own, and checks of the pages they see."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from typing import TYPE_CHECKING, Any, Final, TypeAlias
from weakref import WeakKeyDictionary

from playwright.sync_api import Error as PlaywrightError
from playwright.sync_api import expect, sync_playwright

from screens import build
from tests.programs import chromium
from tests.screens.house_server import PASSWORD
from tests.waiting import TIMEOUT_SECONDS

if TYPE_CHECKING:
    from playwright.sync_api import (
        Browser,
        ConsoleMessage,
        FloatRect,
        Locator,
        Page,
        Request,
    )

    from tests.screens.house import House

SIZES = {
    "desk": (1440, 900),
    "board": (1920, 1080),
    "tablet": (768, 1024),
    "phone": (360, 740),
}
PHONE_ON_ITS_SIDE = (740, 360)
TIMEOUT_MILLISECONDS = TIMEOUT_SECONDS * 1000

expect.set_options(timeout=TIMEOUT_MILLISECONDS)
ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--force-color-profile=srgb", "--mute-audio"]
EXPECTED_ERRORS = ("Failed to load resource", "WebSocket connection to")
"""Console errors of the browser itself, when a test refuses a request or cuts the connection."""

AXE = """async (rules) => {
  const some = rules.length ? { runOnly: rules } : {};
  const found = await axe.run(document, { resultTypes: ["violations"], ...some });
  return found.violations.map((each) => ({
    id: each.id,
    help: each.help,
    nodes: each.nodes
      .slice(0, 4)
      .map((node) => `${node.html.slice(0, 160)} -- ${node.failureSummary}`),
  }));
}"""


IS_SETTLED = """async (loading) => {
  const turn = () => new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
  for (let i = 0; i < 3; i++) await turn();
  await document.fonts.ready;
  const ends = (each) =>
    each.playState === "running" && each.effect?.getComputedTiming().endTime < Infinity;
  const moving = document.getAnimations().filter(ends);
  await Promise.all(moving.map((each) => each.finished.catch(() => {})));
  const lines = document.body.innerText.split("\\n").map((line) => line.trim());
  const isLoading = lines.some((each) => loading.includes(each));
  return !isLoading && !document.querySelector("[aria-busy=true]");
}"""
"""Whether a page has handled its responses, nothing moves, and no part says that it is loading."""

NEXT_FRAME = "() => new Promise(requestAnimationFrame)"


@contextmanager
def launch_browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium(), args=ARGUMENTS)
        try:
            yield browser
        finally:
            browser.close()


class BrowserUser:
    """A user with their own browser context and page.

    `problems` collects errors on the console, uncaught exceptions and requests to other hosts.
    """

    def __init__(
        self, browser: Browser, house: House, size: str = "desk", lang: str = "en"
    ) -> None:
        self._origin = house.url
        width, height = PHONE_ON_ITS_SIDE if size == "side" else SIZES[size]
        self.context = browser.new_context(
            base_url=house.url,
            viewport={"width": width, "height": height},
            locale={"en": "en-GB", "zh-Hant": "zh-TW", "zh-Hans": "zh-CN"}[lang],
            has_touch=size in ("tablet", "phone", "side"),
            color_scheme="dark",
        )
        self.context.set_default_timeout(TIMEOUT_MILLISECONDS)
        self.problems: list[str] = []
        self.context.on("console", self._check_console)
        self.context.on("request", self._check_host)
        self.context.on("page", track_requests)
        self.page: Page = self.context.new_page()
        self.page.on("pageerror", lambda error: self.problems.append(str(error)))

    def _check_console(self, message: ConsoleMessage) -> None:
        if message.type == "error" and not message.text.startswith(EXPECTED_ERRORS):
            self.problems.append(message.text)

    def _check_host(self, request: Request) -> None:
        if not request.url.startswith((self._origin + "/", "data:", "blob:")):
            self.problems.append(f"request to another host: {request.url}")

    def sign_in(self, name: str, path: str = "/") -> Page:
        """Sign in through the API, as the form does, and open a page.

        The session ends when the window closes: an account has a limited number of sessions, and
        too many windows would end those of other tests.
        """
        response = self.context.request.post(
            "/api/session",
            data={"name": name, "password": PASSWORD},
            headers={"Origin": self._origin},
        )
        assert response.ok, response.text()
        self.page.goto(path)
        return self.page

    def close(self) -> None:
        """Sign out and close the window; a server that a test has stopped cannot be told."""
        with suppress(PlaywrightError):
            self.context.request.delete("/api/session", headers={"Origin": self._origin})
        self.context.close()


NewUser: TypeAlias = Callable[..., BrowserUser]
"""Opens a window: a house, then optionally a size and a language."""


def close_windows(users: Iterable[BrowserUser]) -> None:
    """Close the windows of users; none may have had a problem."""
    problems = [problem for user in users for problem in user.problems]
    for user in users:
        user.close()
    assert not problems, problems


class PageRequests:
    """The requests of a page that are under way, except those that the page repeats as a poll."""

    def __init__(self) -> None:
        self.under_way: set[Request] = set()
        self.started = 0
        self._answered: set[str] = set()

    def start(self, request: Request) -> None:
        if request.is_navigation_request() and request.frame.parent_frame is None:
            self.under_way.clear()
            self._answered.clear()
        if request.method != "GET" or request.url not in self._answered:
            self.under_way.add(request)
            self.started += 1

    def end(self, request: Request) -> None:
        self.under_way.discard(request)
        self._answered.add(request.url)


REQUESTS: Final[WeakKeyDictionary[Page, PageRequests]] = WeakKeyDictionary()


def track_requests(page: Page) -> None:
    """Keep track of the requests of a new page."""
    requests = REQUESTS[page] = PageRequests()
    page.on("request", requests.start)
    page.on("requestfinished", requests.end)
    page.on("requestfailed", requests.end)


def wait_until_loaded(page: Page) -> None:
    """Wait until a page shows everything that it loads when it is opened, and nothing moves.

    Every request is answered, no animation runs, and no part of the page says that it is loading.
    Polls do not count, except the first of each kind.
    """
    requests, deadline = REQUESTS[page], time.monotonic() + TIMEOUT_SECONDS
    while True:
        started = None if requests.under_way else requests.started
        page.wait_for_function(IS_SETTLED, arg=_words_for_loading())
        if requests.started == started:
            return
        waits_for = sorted(request.url for request in requests.under_way)
        assert time.monotonic() < deadline, f"{page.url} still loads {waits_for}"


@cache
def _words_for_loading() -> list[str]:
    """Return what a part of a page says while it is loading, in each language."""
    texts = (build.SOURCES / "src" / "texts").glob("*.json")
    return [json.loads(file.read_text(encoding="utf-8"))["common"]["loading"] for file in texts]


def assert_soon(page: Page, read: Callable[[], object], expected: object) -> None:
    """Assert that what is read from a page becomes what is expected; read it once per frame."""
    deadline = time.monotonic() + TIMEOUT_SECONDS
    while (found := read()) != expected and time.monotonic() < deadline:
        page.evaluate(NEXT_FRAME)
    assert found == expected


def text_of(place: Locator) -> str:
    """Return a text that does not change once it is shown."""
    expect(place).not_to_be_empty()
    return place.inner_text()


def box_of(place: Locator) -> FloatRect:
    """Return the position and the size of an element that is on its page, once nothing moves."""
    wait_until_loaded(place.page)
    box = place.bounding_box()
    assert box, f"{place} is not on the page"
    return box


def accessibility_violations(page: Page, *rules: str) -> list[dict[str, Any]]:
    """Return what axe-core finds on a page as it is now, by some of its rules or by all."""
    if not page.evaluate("typeof axe !== 'undefined'"):
        page.evaluate(_axe_source())
    found: list[dict[str, Any]] = page.evaluate(AXE, rules)
    return found


@cache
def _axe_source() -> str:
    build.install()
    return (build.SOURCES / "node_modules" / "axe-core" / "axe.min.js").read_text()


def is_wider_than_screen(page: Page) -> bool:
    wider: bool = page.evaluate("document.documentElement.scrollWidth > window.innerWidth")
    return wider


def type_counts(form: Page | Locator, counts: dict[str, int]) -> None:
    """Type counts of chips into its fields."""
    for chip, number in counts.items():
        form.locator(f"[name=count-{chip}]").fill(str(number))


def format_amount(amount: int, *, sign: bool = False) -> str:
    """Format an amount as an English page does; with `sign`, a gain has a plus."""
    return f"{'+' if sign and amount > 0 else ''}{amount / 100:,.2f}"
