"""A browser and a house for all tests of the screens; everybody has a window of his own."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.screens.browser import Person, browsing
from tests.screens.house import House

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from playwright.sync_api import Browser


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    with browsing() as started:
        yield started


@pytest.fixture(scope="session")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    """A house with a table of every layout, for tests that leave each other's tables alone."""
    served = House(tmp_path_factory.mktemp("house"))
    yield served
    served.stop()


@pytest.fixture
def person(browser: Browser) -> Iterator[Callable[..., Person]]:
    """Returns how to put somebody in front of a screen; nobody's screen may have complained."""
    people: list[Person] = []

    def put(at: House, size: str = "desk", lang: str = "en") -> Person:
        people.append(Person(browser, at, size, lang))
        return people[-1]

    yield put
    complaints = [each for someone in people for each in someone.complaints]
    for someone in people:
        someone.context.close()
    assert not complaints, complaints
