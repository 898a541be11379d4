"""Chromium, as Debian ships it, and people in front of it."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from playwright.sync_api import expect, sync_playwright

from tests.programs import chromium
from tests.screens.serving import PASSWORD

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Browser, Page, Route

    from tests.screens.house import House

SIZES = {"desk": (1440, 900), "board": (1920, 1080), "phone": (360, 740)}
PATIENCE_MILLISECONDS = 60_000
"""How long a page may take for anything: machines that test are busy."""

expect.set_options(timeout=PATIENCE_MILLISECONDS)
MOST_FRAMES = 2_000
"""How many frames a page may draw before it sends a request that is waited for."""
ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--force-color-profile=srgb", "--mute-audio"]


@contextmanager
def browsing() -> Iterator[Browser]:
    """Start a browser that every test opens its own windows in."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium(), args=ARGUMENTS)
        try:
            yield browser
        finally:
            browser.close()


class Hold:
    """Requests of a page that do not reach the house until they are let go."""

    def __init__(self, page: Page, pattern: str) -> None:
        self._page, self._pattern = page, pattern
        self._held: list[Route] = []
        page.route(pattern, self._hold)

    def _hold(self, route: Route) -> None:
        self._held.append(route)

    def wait(self) -> None:
        """Wait until the page has sent a request."""
        for _ in range(MOST_FRAMES):
            if self._held:
                return
            self._page.evaluate("() => new Promise(requestAnimationFrame)")
        raise AssertionError(f"the page has sent nothing to {self._pattern}")

    def let_go(self) -> None:
        """Let the first request through, and whatever comes after it."""
        self.wait()
        self._held[0].continue_()
        self._page.unroute(self._pattern)


class Person:
    """Somebody in front of a screen of his own: his window, and what it complained about."""

    def __init__(
        self, browser: Browser, house: House, size: str = "desk", lang: str = "en"
    ) -> None:
        self._origin = house.url
        width, height = SIZES[size]
        self.context = browser.new_context(
            base_url=house.url,
            viewport={"width": width, "height": height},
            locale={"en": "en-GB", "zh-Hant": "zh-TW", "zh-Hans": "zh-CN"}[lang],
            has_touch=size == "phone",
        )
        self.context.set_default_timeout(PATIENCE_MILLISECONDS)
        self.page: Page = self.context.new_page()
        self.complaints: list[str] = []
        self.page.on("console", self._heard)
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))

    def _heard(self, message: object) -> None:
        text = getattr(message, "text", "")
        expected = "Failed to load resource", "WebSocket connection to"
        if getattr(message, "type", "") == "error" and not text.startswith(expected):
            self.complaints.append(text)

    def sign_in(self, who: str, path: str = "/") -> Page:
        """Sign in through the API, as the form does, and go to a page."""
        response = self.context.request.post(
            "/api/session",
            data={"name": who, "password": PASSWORD},
            headers={"Origin": self._origin},
        )
        assert response.ok, response.text()
        self.page.goto(path)
        return self.page
