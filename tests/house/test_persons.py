"""Personal data is stored outside the hash chain and can be erased."""

from __future__ import annotations

from datetime import date
from typing import TYPE_CHECKING

import pytest

from tests.house.house_driver import ROUND, People
from threedice.errors import InvalidInput
from threedice.house import CommandHandler
from threedice.house.audit.auditor import audit
from threedice.house.persons import Person, delete_person, load_person, save_person
from threedice.log.stores.sqlite import SqliteStore

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.anyio
async def test_erasing_a_person_leaves_the_audit_without_findings(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "house.sqlite")
    async with CommandHandler(store) as handler:
        people = People(handler)
        await people.open()
        await people.play(*ROUND)
    save_person(store, "ann", Person("Ann Of Green Gables", date(1990, 5, 17)))
    assert load_person(store, "ann") == Person("Ann Of Green Gables", date(1990, 5, 17))

    assert delete_person(store, "ann")

    assert load_person(store, "ann") is None
    assert not delete_person(store, "ann")
    assert audit(store, public_keys={}).findings == ()
    store.close()
    assert b"Green Gables" not in b"".join(
        each.read_bytes() for each in tmp_path.iterdir() if each.is_file()
    )


@pytest.mark.parametrize(
    ("born", "today", "age"),
    [
        (date(2000, 6, 15), date(2018, 6, 14), 17),
        (date(2000, 6, 15), date(2018, 6, 15), 18),
        (date(2000, 6, 15), date(2018, 6, 16), 18),
        (date(2000, 2, 29), date(2018, 3, 1), 18),
        (None, date(2018, 6, 15), None),
    ],
)
def test_age_counts_full_years(born: date | None, today: date, age: int | None) -> None:
    assert Person("Ann", born).age(today) == age


def test_person_without_a_name_or_an_id_is_refused(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "house.sqlite")
    for player, name in (("", "Ann"), ("ann", " ")):
        with pytest.raises(InvalidInput):
            save_person(store, player, Person(name))
    store.close()
