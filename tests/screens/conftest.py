"""A browser and a server that all tests of the screens share."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from screens import build
from tests.screens.browser import BrowserUser, close_windows, launch_browser
from tests.screens.house import House

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Browser

    from tests.screens.browser import NewUser


@pytest.fixture(scope="session", autouse=True)
def _current_build() -> None:
    """Refuse to test a build that is older than the sources of the screens."""
    if not build.is_built():
        pytest.fail("the screens have changed since they were built: run `make screens`")


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    with launch_browser() as browser:
        yield browser


@pytest.fixture(scope="session")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    """Run a house with a table of every layout; each test uses tables of its own."""
    with House(tmp_path_factory.mktemp("house")) as house:
        yield house


@pytest.fixture
def new_user(browser: Browser) -> Iterator[NewUser]:
    """Return a function that opens a window for a user."""
    users: list[BrowserUser] = []

    def open_window(house: House, size: str = "desk", lang: str = "en") -> BrowserUser:
        users.append(BrowserUser(browser, house, size, lang))
        return users[-1]

    yield open_window
    close_windows(users)
