"""`threedice users`: accounts made and changed from the console."""

from __future__ import annotations

import io
import sys
from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from threedice.identity import SignInRefused, open_identity
from threedice.identity.passwords import TEST_COST

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from tests.cli.conftest import Result, Run
    from threedice.identity import IdentityService

PASSWORD = "a long and quiet river"


@pytest.fixture
def url(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setattr("threedice.cli.users.PASSWORD_COST", TEST_COST)
    return f"sqlite:///{tmp_path}/house.sqlite"


@pytest.fixture
def users(url: str, run: Run) -> Callable[..., Result]:
    """Run a command on a house."""
    return lambda *words: run("users", *words, "--database", url)


@pytest.fixture
def people(url: str, tmp_path: Path, users: Callable[..., Result]) -> Iterator[IdentityService]:
    """The people of a house in which there is an administrator."""
    assert users("add", "adam", "--role", "administrator").code == 0
    with closing(
        open_identity(url, state=tmp_path / "house.sqlite.state", cost=TEST_COST)
    ) as opened:
        yield opened


def test_the_first_account_makes_the_house(people: IdentityService, url: str, run: Run) -> None:
    assert [each.name for each in people.accounts.all()] == ["adam"]
    assert run("log", "verify", "--database", url).code == 0


def test_somebody_is_added_with_a_password_shown_once(
    people: IdentityService, users: Callable[..., Result]
) -> None:
    result = users("add", "Dan", "--role", "dealer", "--role", "supervisor")

    assert result.code == 0
    told, _, password = result.out.splitlines()
    dan = people.accounts.find_by_name("dan")
    assert dan is not None
    assert told == f"dan (dealer, supervisor) has id {dan.id}"
    assert people.authentication.sign_in("dan", password).session.state == "new-password"


def test_a_password_is_read_and_not_shown(
    people: IdentityService, users: Callable[..., Result], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO(PASSWORD + "\n"))

    result = users("add", "ann", "--role", "player", "--password-stdin")

    assert result.code == 0
    assert PASSWORD not in result.out
    assert people.authentication.sign_in("ann", PASSWORD).session.state == "open"


def test_accounts_are_listed(people: IdentityService, users: Callable[..., Result]) -> None:
    people.accounts.disable(people.accounts.add("ann", ["player"]).account.id)

    plain = users("list")
    (adam, ann) = users("list", "--json").json["accounts"]

    assert [line.split()[0] for line in plain.out.splitlines()] == ["name", "adam", "ann"]
    assert "disabled" in plain.out.splitlines()[2]
    assert (adam["name"], adam["roles"], adam["enabled"]) == ("adam", ["administrator"], True)
    assert (ann["name"], ann["enabled"], ann["codes"]) == ("ann", False, False)


def test_somebody_is_disabled_and_enabled(
    people: IdentityService, users: Callable[..., Result]
) -> None:
    people.accounts.add("ann", ["player"], password=PASSWORD)
    token = people.authentication.sign_in("ann", PASSWORD).token

    assert users("disable", "ANN").code == 0
    people.poll()
    assert people.sessions.resolve(token) is None
    with pytest.raises(SignInRefused):
        people.authentication.sign_in("ann", PASSWORD)
    assert users("enable", "ann").code == 0
    assert people.authentication.sign_in("ann", PASSWORD)


def test_a_password_is_replaced(people: IdentityService, users: Callable[..., Result]) -> None:
    people.accounts.add("ann", ["player"], password=PASSWORD)

    password = users("passwd", "ann").out.splitlines()[-1]

    with pytest.raises(SignInRefused):
        people.authentication.sign_in("ann", PASSWORD)
    assert people.authentication.sign_in("ann", password).session.state == "new-password"


def test_codes_are_reset(people: IdentityService, users: Callable[..., Result]) -> None:
    dan = people.accounts.add("dan", ["dealer"], password=PASSWORD).account
    token = people.authentication.sign_in("dan", PASSWORD).token

    assert users("reset-codes", "dan").code == 0

    people.poll()
    assert people.sessions.resolve(token) is None
    assert people.audit_trail.security_events()[-1].kind == "code-reset"
    assert not people.second_factors.is_enrolled(dan.id)


def test_somebody_is_assigned(people: IdentityService, users: Callable[..., Result]) -> None:
    dan = people.accounts.add("dan", ["dealer"]).account

    result = users(
        "assign", "dan", "--role", "dealer", "--table", "one",
        "--from", "2030-01-31T18:00+00:00", "--until", "2030-02-01T02:00+00:00",
    )  # fmt: skip
    everywhere = users("assign", "dan", "--role", "dealer", "--until", "2031-01-01T00:00Z")

    assert result.out == (
        "dan is dealer at one from 2030-01-31T18:00:00+00:00 until 2030-02-01T02:00:00+00:00\n"
    )
    assert everywhere.code == 0
    at = 1_896_112_800_000_000
    assert len(people.assignments.current(table="one", at=at)) == 2
    assert len(people.assignments.current(table="one", at=at - 1)) == 1
    assert people.assignments.current(account=dan.id, table="two")


def test_a_token_is_made(people: IdentityService, users: Callable[..., Result]) -> None:
    people.accounts.add("ann", ["player"])

    result = users("token", "ann", "my robot", "--scope", "read", "--scope", "play", "--days", "7")

    program = people.tokens.resolve(result.out.splitlines()[-1])
    assert program is not None
    assert (program.name, program.scopes) == ("my robot", ("play", "read"))
    assert program.expires - program.created == 7 * 24 * 3600 * 1_000_000


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["add", "house", "--role", "player"], "is reserved"),
        (["add", "adam", "--role", "player"], "already"),
        (["add", "bob", "--role", "croupier"], "the roles are"),
        (["add", "bob"], "Missing option"),
        (["disable", "adam"], "one administrator"),
        (["disable", "adma"], "did you mean adam?"),
        (
            ["assign", "adam", "--role", "dealer", "--until", "2030-01-01"],
            "not have the role dealer",
        ),
        (["assign", "adam", "--role", "administrator", "--until", "soon"], "is not a time"),
        (["assign", "adam", "--role", "administrator", "--until", "1999-01-01"], "ends after"),
        (["token", "adam", "robot", "--scope", "Read!"], "such as read"),
    ],
)
def test_mistakes_are_told_in_a_line(
    words: list[str], says: str, people: IdentityService, users: Callable[..., Result]
) -> None:
    result = users(*words)

    assert (result.code, result.out) == (2, "")
    assert says in result.err
    assert len(result.err.splitlines()) == 1
    assert [each.name for each in people.accounts.all()] == ["adam"]


def test_a_weak_password_is_refused(
    people: IdentityService, users: Callable[..., Result], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO("qwerty123456\n"))

    result = users("passwd", "adam", "--password-stdin")

    assert result.code == 2
    assert "guessed first" in result.err
    assert len(people.audit_trail.security_events()) == 1


def test_a_house_that_is_not_there_is_made_by_adding_only(
    users: Callable[..., Result], tmp_path: Path
) -> None:
    result = users("list")

    assert result.code == 2
    assert "there is no database" in result.err
    assert list(tmp_path.iterdir()) == []
