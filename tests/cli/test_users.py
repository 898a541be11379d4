"""`threedice users` adds and changes accounts."""

from __future__ import annotations

import io
import sys
from contextlib import closing
from datetime import date
from typing import TYPE_CHECKING

import pytest

from tests.api.test_config import HOUSE_FILE
from threedice.house.persons import Person, load_person
from threedice.identity import SignInRefused, open_identity
from threedice.identity.authentication.passwords import TEST_COST
from threedice.log.stores.urls import open_store

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from tests.cli.conftest import Option, Result, Run
    from threedice.identity import IdentityService

PASSWORD = "a long and quiet river"


@pytest.fixture
def url(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setattr("threedice.cli.users.PASSWORD_COST", TEST_COST)
    return f"sqlite:///{tmp_path}/house.sqlite"


@pytest.fixture
def users(url: str, run: Run) -> Callable[..., Result]:
    """Run `threedice users` on the house."""
    return lambda *words: run("users", *words, "--database", url)


@pytest.fixture
def identity(url: str, tmp_path: Path, users: Callable[..., Result]) -> Iterator[IdentityService]:
    """Open the identity service of a house that has an administrator."""
    assert users("add", "adam", "--role", "administrator").code == 0
    with closing(
        open_identity(url, state=tmp_path / "house.sqlite.state", cost=TEST_COST)
    ) as service:
        yield service


def test_users_add_creates_the_database(identity: IdentityService, url: str, run: Run) -> None:
    assert [each.name for each in identity.accounts.all()] == ["adam"]
    assert run("log", "verify", "--database", url).code == 0


def test_users_add_prints_a_temporary_password(
    identity: IdentityService, users: Callable[..., Result]
) -> None:
    result = users("add", "Dan", "--role", "dealer", "--role", "supervisor")

    assert result.code == 0
    summary, _, password = result.out.splitlines()
    dan = identity.accounts.find_by_name("dan")
    assert dan is not None
    assert summary == f"dan (dealer, supervisor) has id {dan.id}"
    assert identity.authentication.sign_in("dan", password).session.state == "new-password"


def test_password_from_stdin_is_not_printed(
    identity: IdentityService, users: Callable[..., Result], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO(PASSWORD + "\n"))

    result = users("add", "ann", "--role", "player", "--password-stdin")

    assert result.code == 0
    assert PASSWORD not in result.out
    assert identity.authentication.sign_in("ann", PASSWORD).session.state == "open"


def test_users_list_shows_every_account(
    identity: IdentityService, users: Callable[..., Result]
) -> None:
    identity.accounts.disable(identity.accounts.add("ann", ["player"]).account.id)

    plain = users("list")
    (adam, ann) = users("list", "--json").json["accounts"]

    assert [line.split()[0] for line in plain.out.splitlines()] == ["name", "adam", "ann"]
    assert "disabled" in plain.out.splitlines()[2]
    assert (adam["name"], adam["roles"], adam["enabled"]) == ("adam", ["administrator"], True)
    assert (ann["name"], ann["enabled"], ann["codes"]) == ("ann", False, False)


def test_disabled_account_cannot_sign_in_until_enabled(
    identity: IdentityService, users: Callable[..., Result]
) -> None:
    identity.accounts.add("ann", ["player"], password=PASSWORD)
    token = identity.authentication.sign_in("ann", PASSWORD).token

    assert users("disable", "ANN").code == 0
    identity.poll()
    assert identity.sessions.resolve(token) is None
    with pytest.raises(SignInRefused):
        identity.authentication.sign_in("ann", PASSWORD)
    assert users("enable", "ann").code == 0
    assert identity.authentication.sign_in("ann", PASSWORD)


def test_users_passwd_replaces_the_password(
    identity: IdentityService, users: Callable[..., Result]
) -> None:
    identity.accounts.add("ann", ["player"], password=PASSWORD)

    password = users("passwd", "ann").out.splitlines()[-1]

    with pytest.raises(SignInRefused):
        identity.authentication.sign_in("ann", PASSWORD)
    assert identity.authentication.sign_in("ann", password).session.state == "new-password"


def test_users_reset_codes_ends_sessions_and_is_audited(
    identity: IdentityService, users: Callable[..., Result]
) -> None:
    dan = identity.accounts.add("dan", ["dealer"], password=PASSWORD).account
    token = identity.authentication.sign_in("dan", PASSWORD).token

    assert users("reset-codes", "dan").code == 0

    identity.poll()
    assert identity.sessions.resolve(token) is None
    assert identity.audit_trail.security_events()[-1].kind == "code-reset"
    assert not identity.second_factors.is_enrolled(dan.id)


def test_users_assign_grants_a_role_at_one_table_or_all_for_a_period(
    identity: IdentityService, users: Callable[..., Result], tmp_path: Path
) -> None:
    dan = identity.accounts.add("dan", ["dealer"]).account
    text = HOUSE_FILE.replace("[tables.pit-1]", "[tables.one]")
    (tmp_path / "house.sqlite.state" / "house.toml").write_text(text, encoding="utf-8")

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
    assert len(identity.assignments.current(table="one", at=at)) == 2
    assert len(identity.assignments.current(table="one", at=at - 1)) == 1
    assert identity.assignments.current(account=dan.id, table="two")


def test_users_assign_refuses_a_table_that_neither_the_log_nor_the_house_file_has(
    database: Option, house: Path, tmp_path: Path, run: Run
) -> None:
    with closing(
        open_identity(database[1], state=house / "house.sqlite.state", cost=TEST_COST)
    ) as (identity):
        identity.accounts.add("dan", ["dealer"])
    shift = ("--role", "dealer", "--until", "2040-01-31T02:00", *database)
    file = tmp_path / "house.toml"
    file.write_text(HOUSE_FILE, encoding="utf-8")

    unknown = run("users", "assign", "dan", "--table", "pit-11", *shift)
    nearest = run("users", "assign", "dan", "--table", "pit-11", "--house", str(file), *shift)
    in_the_file = run("users", "assign", "dan", "--table", "pit-1", "--house", str(file), *shift)
    in_the_log = run("users", "assign", "dan", "--table", "two", "--house", str(file), *shift)

    assert unknown.code == nearest.code == 2
    assert "no table 'pit-11'; did you mean one or two?" in unknown.err
    assert "no table 'pit-11'; did you mean pit-1" in nearest.err
    assert (in_the_file.code, in_the_log.code) == (0, 0)


def test_users_assign_knows_the_house_file_that_the_house_was_served_with(
    identity: IdentityService, users: Callable[..., Result], tmp_path: Path
) -> None:
    identity.accounts.add("dan", ["dealer"])
    shift = ("--role", "dealer", "--until", "2040-01-31T02:00")
    before = users("assign", "dan", "--table", "pit-1", *shift)

    (tmp_path / "house.sqlite.state" / "house.toml").write_text(HOUSE_FILE, encoding="utf-8")

    assert "no table 'pit-1'; there are none to choose from" in before.err
    assert users("assign", "dan", "--table", "pit-1", *shift).code == 0


def test_users_token_creates_a_token_with_scopes_and_an_expiry(
    identity: IdentityService, users: Callable[..., Result]
) -> None:
    identity.accounts.add("ann", ["player"])

    result = users("token", "ann", "my robot", "--scope", "read", "--scope", "play", "--days", "7")

    program = identity.tokens.resolve(result.out.splitlines()[-1])
    assert program is not None
    assert (program.name, program.scopes) == ("my robot", ("play", "read"))
    assert program.expires - program.created == 7 * 24 * 3600 * 1_000_000


def test_users_token_refuses_an_unknown_scope_and_names_the_scopes(
    identity: IdentityService, users: Callable[..., Result]
) -> None:
    ann = identity.accounts.add("ann", ["player"]).account

    result = users("token", "ann", "my robot", "--scope", "read", "--scope", "plays")

    assert result.code == 2
    assert "no scope 'plays'; choose from read, play, deal, manage, metrics" in result.err
    assert identity.tokens.list_for_account(ann.id) == []


def test_command_line_enrols_staff_alone_until_there_are_two_administrators(
    identity: IdentityService, users: Callable[..., Result]
) -> None:
    for name, role in (("sue", "supervisor"), ("beth", "administrator")):
        assert "waits" not in users("add", name, "--role", role).out
        assert is_enabled(identity, name)

    added = users("add", "dan", "--role", "dealer")
    promoted = users("roles", "sue", "--role", "supervisor", "--role", "pit-manager")
    users("disable", "sue")
    enabled = users("enable", "sue")

    for result, name in ((added, "dan"), (promoted, "sue"), (enabled, "sue")):
        assert result.code == 0
        assert f"{name} waits until an administrator confirms this" in result.out
    assert not is_enabled(identity, "dan")
    assert not is_enabled(identity, "sue")
    assert "is enabled" not in users("enable", "dan").out
    refused = users("confirm", "dan")
    assert (refused.code, refused.out) == (2, "")
    assert "there is an administrator who can confirm this" in refused.err


def is_enabled(identity: IdentityService, name: str) -> bool:
    account = identity.accounts.find_by_name(name)
    return account is not None and account.enabled


def test_command_line_confirms_what_no_second_administrator_can(
    identity: IdentityService, users: Callable[..., Result]
) -> None:
    users("add", "beth", "--role", "administrator")
    adam, beth = (identity.accounts.find_by_name(name) for name in ("adam", "beth"))
    assert adam is not None
    assert beth is not None
    identity.accounts.reset_password(beth.id, by=adam.id)
    assert [each.account for each in identity.enrolments.pending()] == [beth.id]

    assert users("confirm", "beth").out == "beth is confirmed\n"

    assert identity.enrolments.pending() == []
    last = identity.audit_trail.security_events()[-1]
    assert (last.kind, last.account, last.by) == ("enrolment-confirmed", beth.id, "console")
    assert users("confirm", "beth").out == "nothing of beth awaits confirmation\n"


@pytest.mark.parametrize(
    ("words", "message"),
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
        (["token", "adam", "robot", "--scope", "Read!"], "choose from read"),
    ],
)
def test_invalid_arguments_of_users_print_one_line_and_add_no_account(
    words: list[str], message: str, identity: IdentityService, users: Callable[..., Result]
) -> None:
    result = users(*words)

    assert (result.code, result.out) == (2, "")
    assert message in result.err
    assert len(result.err.splitlines()) == 1
    assert [each.name for each in identity.accounts.all()] == ["adam"]


def test_a_weak_password_is_refused(
    identity: IdentityService, users: Callable[..., Result], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO("qwerty123456\n"))

    result = users("passwd", "adam", "--password-stdin")

    assert result.code == 2
    assert "guessed first" in result.err
    assert len(identity.audit_trail.security_events()) == 1


def test_users_list_does_not_create_a_missing_database(
    users: Callable[..., Result], tmp_path: Path
) -> None:
    result = users("list")

    assert result.code == 2
    assert "there is no database" in result.err
    assert list(tmp_path.iterdir()) == []


def test_birth_dates_are_recorded_when_an_account_is_added_and_later(
    identity: IdentityService, users: Callable[..., Result], url: str, run: Run
) -> None:
    assert users("add", "dan", "--role", "dealer", "--born", "2001-02-03").code == 0
    dan = identity.accounts.find_by_name("dan")
    assert dan is not None
    with closing(open_store(url, read_only=True)) as store:
        assert load_person(store, dan.id) == Person("dan", date(2001, 2, 3))

    assert users("born", "dan", "1990-01-31").code == 0
    with closing(open_store(url, read_only=True)) as store:
        assert load_person(store, dan.id) == Person("dan", date(1990, 1, 31))
    trail = [(each.kind, each.account) for each in identity.audit_trail.security_events()]
    assert trail.count(("birth-date-changed", dan.id)) == 2
    assert run("log", "verify", "--database", url).code == 0


@pytest.mark.parametrize(
    "words",
    [
        ("born", "adam", "31.1.1990"),
        ("born", "adam", "1066-10-14"),
        ("born", "adam", "2099-01-01"),
        ("born", "nobody", "1990-01-31"),
    ],
)
def test_impossible_birth_date_and_unknown_account_are_refused(
    identity: IdentityService, users: Callable[..., Result], words: tuple[str, ...]
) -> None:
    result = users(*words)

    assert result.code == 2
    assert words[1 if words[1] == "nobody" else 2] in result.err
    assert identity.accounts.find_by_name("nobody") is None
