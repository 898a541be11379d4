"""Attacks over HTTP by a dishonest member of the staff who acts alone."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

import msgspec
import pytest

from tests.api.house_app import GAME, open_house_app, problem_code, seat_players
from threedice import load
from threedice.account.commands import Deposit, OpenAccount
from threedice.api.config import HousePolicies
from threedice.house.allowances import HouseAmounts
from threedice.house.authority import Authority, AuthorityRow
from threedice.house.commands import AnyAccountCommand, AnyStreamCommand
from threedice.house.events import Timing
from threedice.identity import ROLES
from threedice.table.commands import Actor, BuyIn
from threedice.table.limits import uniform_limits

if TYPE_CHECKING:
    import httpx

    from tests.api.house_app import HouseApp

pytestmark = pytest.mark.anyio

GOLDEN = Path(__file__).parent / "authority.txt"
SAMPLES = Path(__file__).parents[1] / "contract" / "recorded" / "commands.jsonl"
SLOW = Timing(betting_seconds=86_400)
AMOUNTS = HouseAmounts()
SECOND_PERSON = (403, "door/second-person")


def outcome(response: httpx.Response) -> tuple[int, str]:
    return response.status_code, problem_code(response)


def ruling(house: HouseApp, amount: int) -> dict[str, Any]:
    return {
        "type": "MakeRuling", "player": house.id("player"), "amount": amount, "reason": "fair",
    }  # fmt: skip


def cash_in(house: HouseApp, amount: int, player: str = "") -> dict[str, Any]:
    player = player or house.id("player")
    return {
        "type": "BuyIn", "player": player, "amount": amount, "source": "cash", "age_years": 30,
    }  # fmt: skip


def cash_out(house: HouseApp, amount: int, to: str = "outside") -> dict[str, Any]:
    return {"type": "CashOut", "player": house.id("player"), "amount": amount, "to": to}


async def stack(house: HouseApp, who: str = "player") -> int:
    seat = (await house.handler.table("1")).table.seats.get(house.id(who))
    return seat.stack if seat else 0


# --- the table of authority ---------------------------------------------------------------------


def describe(row: AuthorityRow) -> str:
    """Describe what a row permits in one line of the golden copy."""
    if not row.permitted:
        return "never"
    conditions = {
        "always": "alone",
        "never": "",
        "up-to-amount": f"alone up to {row.up_to} per {row.per} in 24 hours",
        "approved-terms": "alone with approved terms",
        "by-rulebook": "alone where the rulebook permits it",
        "if-empty": "alone while no player has chips there",
    }
    text = conditions[row.alone]
    if row.alone != "always":
        text += f"{', else ' if text else ''}with {' or '.join(row.approvers)}"
    return text if row.ceiling is None else f"{text}; never above {row.ceiling}"


def render(rows: list[AuthorityRow]) -> str:
    """Render the table of authority, a paragraph for each command."""
    lines, command = [], ""
    for row in rows:
        if row.command != command:
            lines += ["", row.command] if command else [row.command]
            command = row.command
        where = "" if len(row.tables) == 2 else f" ({row.tables[0]} tables)"
        lines.append(f"  {', '.join(row.roles)}{where}: {describe(row)}")
    return "\n".join(lines) + "\n"


def test_table_of_authority_is_the_golden_copy() -> None:
    """Every command, role and kind of table; change the copy only with what it says in mind."""
    assert render(Authority(AMOUNTS).rows()) == GOLDEN.read_text(encoding="utf-8")


def test_table_of_authority_names_every_command_role_and_kind_of_table_once() -> None:
    named = [
        (row.command, role, kind)
        for row in Authority(AMOUNTS).rows()
        for role in row.roles
        for kind in row.tables
    ]
    assert len(named) == len(set(named)) == len(get_args(AnyStreamCommand)) * len(ROLES) * 2


async def test_staff_and_auditors_read_the_table_of_authority(house: HouseApp) -> None:
    shown = await house.get("auditor", "/api/authority")
    rows = msgspec.convert(shown["rows"], list[AuthorityRow])
    assert render(rows) == GOLDEN.read_text(encoding="utf-8")
    assert shown["staff_may_play"] is False
    for who in ("player", "administrator"):
        assert problem_code(await house.client(who).get("/api/authority")) == "door/role"


def sample_commands(house: HouseApp) -> dict[str, dict[str, Any]]:
    """Return a well-formed command of every kind, for a player and an amount above all limits."""
    samples: dict[str, dict[str, Any]] = {}
    for line in SAMPLES.read_text(encoding="utf-8").splitlines():
        sent = json.loads(line)["sent"]
        command = {
            key: value for key, value in sent.items()
            if key not in ("by", "approved_by", "confirmed_by", "age_years", "readings")
        }  # fmt: skip
        known = {
            "player": house.id("player"), "amount": 10**8 + 100, "irregularity": "bet-on-line",
        }  # fmt: skip
        command |= {key: value for key, value in known.items() if key in sent}
        samples.setdefault(command["type"], command)
    return samples


@pytest.mark.parametrize("kind", ["staffed", "automatic"])
@pytest.mark.parametrize("who", ROLES)
async def test_every_command_is_answered_as_the_table_of_authority_says(
    who: str, kind: str
) -> None:
    async with open_house_app() as house:
        await seat_players(house, timing=SLOW if kind == "automatic" else None)
        for role in ("dealer", "game-supervisor", "supervisor"):
            house.assign(role)
        samples = sample_commands(house)
        expected = {
            row.command: row
            for row in house.context.authority.rows()
            if who in row.roles and kind in row.tables
        }
        accounts = {each.__name__ for each in get_args(AnyAccountCommand)}
        for name in sorted(expected, key=lambda name: name == "CloseTable"):
            row, command = expected[name], {**samples[name]}
            values = {"source": ("account", "cash"), "to": ("account", "outside")}
            command |= {
                key: values[key][who != "player"] for key in values if name in ("BuyIn", "CashOut")
                and key in command
            }  # fmt: skip
            if name in accounts:
                path = f"/api/accounts/{command['player']}/commands"
                client = house.client(who, **{"Idempotency-Key": name})
                response = await client.post(path, json=command)
            else:
                response = await house.send(who, command)
            code, seen = problem_code(response), (name, who, response.text)
            denials = {"door/role", "floor/dealt-by-house", "floor/player-only"}
            not_alone = {"door/second-person", "door/ceiling"}
            if not row.permitted:
                assert code in denials | not_alone, seen
            elif row.alone in ("always", "by-rulebook"):
                assert code not in denials | not_alone, seen
            else:
                assert code in not_alone, seen


if __name__ == "__main__":
    GOLDEN.write_text(render(Authority(AMOUNTS).rows()), encoding="utf-8")


# --- rulings ------------------------------------------------------------------------------------


@pytest.mark.parametrize("sign", [1, -1])
async def test_ruling_above_the_amount_of_one_person_needs_a_second_manager(
    house_in_play: HouseApp, sign: int
) -> None:
    house, amount = house_in_play, sign * (AMOUNTS.ruling_alone + 5)
    refused = await house.send("shift-manager", ruling(house, amount))
    assert outcome(refused) == SECOND_PERSON
    assert "pit-manager" in refused.json()["detail"]
    assert await stack(house) == 1000

    request = await house.request("shift-manager", ruling(house, amount))
    assert problem_code(await house.approve("supervisor", request)) == "request/role"
    assert problem_code(await house.approve("shift-manager", request)) == "request/own"
    (event,) = (await house.approve("pit-manager", request)).json()["events"]
    assert (event["by"]["id"], event["approved_by"]) == (
        house.id("shift-manager"),
        {"id": house.id("pit-manager"), "role": "pit-manager"},
    )


async def test_small_rulings_of_one_person_do_not_add_up_to_a_large_one(
    house_in_play: HouseApp,
) -> None:
    house, part = house_in_play, AMOUNTS.ruling_alone * 3 // 5
    assert (await house.send("shift-manager", ruling(house, part))).status_code == 200
    for amount in (part, -part):
        assert outcome(await house.send("shift-manager", ruling(house, amount))) == SECOND_PERSON
    rest = AMOUNTS.ruling_alone - part
    assert (await house.send("shift-manager", ruling(house, rest))).status_code == 200


async def test_ruling_or_correction_above_its_ceiling_is_refused_even_with_two_people(
    house_in_play: HouseApp,
) -> None:
    house = house_in_play
    correction = {**ruling(house, AMOUNTS.correction_ceiling + 5), "type": "CorrectBet", "round": 1}
    for who, command in (
        ("shift-manager", ruling(house, AMOUNTS.ruling_ceiling + 5)),
        ("shift-manager", ruling(house, -AMOUNTS.ruling_ceiling - 5)),
        ("dealer", correction),
    ):
        assert outcome(await house.request(who, command)) == (403, "door/ceiling")
    alone = await house.send("shift-manager", ruling(house, AMOUNTS.ruling_ceiling + 5))
    assert outcome(alone) == (403, "door/ceiling")


# --- cash and chips -----------------------------------------------------------------------------


async def test_cash_above_the_amount_of_one_person_is_confirmed_by_a_supervisor(
    house_in_play: HouseApp,
) -> None:
    house, amount = house_in_play, AMOUNTS.cash_alone + 5
    for who in ("dealer", "supervisor", "pit-manager", "shift-manager"):
        assert outcome(await house.send(who, cash_in(house, amount))) == SECOND_PERSON
    assert await stack(house) == 1000
    request = await house.request("dealer", cash_in(house, amount))
    (event,) = (await house.approve("supervisor", request)).json()["events"]
    assert event["by"] == {"id": house.id("dealer"), "role": "dealer"}
    assert event["approved_by"] == {"id": house.id("supervisor"), "role": "supervisor"}
    report = await house.get("supervisor", "/api/tables/1/shift")
    assert report["drop"] == report["expected_drop"] == 2 * 1000 + amount


async def test_small_buy_ins_at_the_same_time_do_not_add_up_past_the_amount(
    house_in_play: HouseApp,
) -> None:
    house, part = house_in_play, AMOUNTS.cash_alone // 5
    sent = await asyncio.gather(
        *(house.send("dealer", cash_in(house, part, "walk-in")) for _ in range(8))
    )
    assert sorted(each.status_code for each in sent) == [200] * 5 + [403] * 3
    other = await house.send("dealer", cash_in(house, part, "another-walk-in"))
    assert other.status_code == 200, other.text


async def test_retry_of_an_accepted_buy_in_gets_its_first_result(house_in_play: HouseApp) -> None:
    house = house_in_play
    command = cash_in(house, AMOUNTS.cash_alone - 1000)
    first = await house.send("dealer", command, key="once")
    house.handler._completed.clear()
    again = await house.send("dealer", command, key="once")
    assert (again.status_code, again.content) == (200, first.content)


async def test_staff_cannot_put_chips_into_an_account(house_in_play: HouseApp) -> None:
    house = house_in_play
    await fund(house)
    for who in ("dealer", "supervisor", "pit-manager", "shift-manager"):
        sent = await house.send(who, cash_out(house, 1000, "account"))
        assert outcome(sent) == (403, "door/words")
        assert outcome(await house.request(who, cash_out(house, 1000, "account"))) == (
            403, "door/words",
        )  # fmt: skip
    own = await house.send("player", cash_out(house, 1000, "account"))
    assert own.status_code == 200, own.text


async def test_fills_and_credits_above_the_amount_need_a_second_person(
    house_in_play: HouseApp,
) -> None:
    house = house_in_play
    for kind in ("FillFloat", "CreditFloat"):
        command = {"type": kind, "amount": AMOUNTS.float_alone + 5}
        assert outcome(await house.send("shift-manager", command)) == SECOND_PERSON
    command = {"type": "FillFloat", "amount": AMOUNTS.float_alone}
    assert (await house.send("supervisor", command)).status_code == 200
    command = {"type": "CreditFloat", "amount": 5}
    assert outcome(await house.send("shift-manager", command)) == SECOND_PERSON


@pytest.mark.parametrize(
    ("kind", "most"),
    [("Deposit", AMOUNTS.cash_alone), ("Withdraw", AMOUNTS.cash_out_alone)],
)
async def test_large_payments_into_and_out_of_accounts_need_a_second_person(
    house: HouseApp, kind: str, most: int
) -> None:
    await fund(house, most * 3)
    house.assign("supervisor")
    place = f"accounts/{house.id('player')}"

    async def send(amount: int) -> tuple[int, str]:
        client = house.client("supervisor", **{"Idempotency-Key": f"{kind}{amount}"})
        command = {"type": kind, "amount": amount}
        return outcome(await client.post(f"/api/{place}/commands", json=command))

    assert await send(most - 1) == (200, "")
    assert await send(2) == SECOND_PERSON
    command = {"type": kind, "amount": most + 1}
    request = await house.request("supervisor", command, place=place)
    assert request.json()["table"] == f"account/{house.id('player')}"
    assert problem_code(await house.approve("supervisor", request)) == "request/own"
    (event,) = (await house.approve("pit-manager", request)).json()["events"]
    people = house.id("supervisor"), house.id("pit-manager")
    assert (event["amount"], event["by"], event["approved_by"]) == (most + 1, *people)
    named = await house.request(
        "supervisor", {**command, "approved_by": house.id("pit-manager")}, place=place
    )
    assert outcome(named) == SECOND_PERSON


async def fund(house: HouseApp, amount: int = 10_000, who: str = "player") -> None:
    """Open an account for a player and pay money in."""
    player = house.id(who)
    handle = house.handler.handle
    opened = OpenAccount(by="console", player=player, currency="SGD")
    await handle(opened, account="console", key="open")
    paid_in = Deposit(by="console", player=player, amount=amount, approved_by="somebody")
    await handle(paid_in, account="console", key="fund")


# --- tables that the house deals ----------------------------------------------------------------


@pytest.fixture
async def automatic_house(house: HouseApp) -> HouseApp:
    """Seat a player with money from their account at a table that the house deals."""
    await seat_players(house, "other player", timing=SLOW)
    await fund(house)
    player = house.id("player")
    by = Actor(id=player, role="player")
    command = BuyIn(by=by, player=player, amount=1000, source="account", age_years=30)
    await house.handler.handle(command, table="1", account=player, key="buy-in")
    house.assign("dealer")
    house.assign("supervisor")
    return house


async def test_staff_cannot_use_the_chips_of_players_at_automatic_tables(
    automatic_house: HouseApp,
) -> None:
    house, player = automatic_house, automatic_house.id("player")
    bet = {"player": player, "box": "big", "amount": 5}
    for command in (
        {"type": "PlaceBet", "manner": "behalf", **bet},
        {"type": "PlaceBet", "manner": "call", **bet},
        {"type": "WithdrawBet", **bet},
        {"type": "RepayDebt", "player": player, "amount": 5, "source": "stack"},
        {"type": "ChangeChips", "player": player, "amount": 5, "into": 5},
        {"type": "TakeColour", "player": player, "colour": "red", "value": 1000},
    ):
        for who in ("dealer", "supervisor", "pit-manager"):
            code = problem_code(await house.send(who, command))
            assert code in ("floor/player-only", "floor/dealt-by-house"), (who, command)
    assert await stack(house) == 1000


async def test_stack_at_an_automatic_table_is_cleared_by_two_people(
    automatic_house: HouseApp,
) -> None:
    house = automatic_house
    for who in ("dealer", "supervisor", "pit-manager", "shift-manager"):
        assert outcome(await house.send(who, cash_out(house, 5))) == SECOND_PERSON
    request = await house.request("dealer", cash_out(house, 1000))
    (event,) = (await house.approve("supervisor", request)).json()["events"]
    assert event["approved_by"]["id"] == house.id("supervisor")


async def test_automatic_table_with_chips_of_players_is_closed_by_two_people(
    automatic_house: HouseApp,
) -> None:
    house, close = automatic_house, {"type": "CloseTable"}
    for who in ("supervisor", "pit-manager", "shift-manager"):
        assert outcome(await house.send(who, close)) == SECOND_PERSON
    own = await house.send("player", cash_out(house, 1000, "account"))
    assert own.status_code == 200, own.text
    other = {**cash_out(house, 1000), "player": house.id("other player")}
    await house.approve("supervisor", await house.request("dealer", other))
    assert (await house.send("supervisor", close)).status_code == 200


# --- staff who play -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "who", ["dealer", "supervisor", "pit-manager", "shift-manager", "auditor", "administrator"]
)
async def test_staff_account_cannot_be_seated_or_opened_by_anybody(
    house_in_play: HouseApp, who: str
) -> None:
    house, staff = house_in_play, (403, "door/staff-player")
    account = house.accounts[who]
    look_alike = account.name.replace("a", "\N{CYRILLIC SMALL LETTER A}")
    for player in (account.id, account.name, account.id.upper(), look_alike):
        for sender in ("dealer", "pit-manager"):
            assert outcome(await house.send(sender, cash_in(house, 5, player))) == staff
            assert outcome(await house.request(sender, cash_in(house, 5, player))) == staff
        for command in (
            {"type": "OpenAccount", "currency": "SGD"}, {"type": "Deposit", "amount": 5},
        ):  # fmt: skip
            key = f"{command['type']}-{player.encode().hex()}"
            client = house.client("pit-manager", **{"Idempotency-Key": key})
            sent = await client.post(f"/api/accounts/{player}/commands", json=command)
            assert outcome(sent) == staff


async def test_staff_play_only_where_they_do_not_work_if_the_house_permits_it() -> None:
    async with open_house_app() as house:
        policies = HousePolicies(commands_per_second=100_000, staff_may_play=True)
        house.context.config = msgspec.structs.replace(house.context.config, policies=policies)
        await seat_players(house)
        house.assign("dealer")
        house.add_account("guest", "dealer")
        house.add_account("floor", "supervisor")
        house.assign("guest", "2", "dealer")
        house.assign("floor", None, "supervisor")
        for player in ("dealer", "floor", "pit-manager", "administrator"):
            sent = await house.send("shift-manager", cash_in(house, 5, house.id(player)))
            assert outcome(sent) == (403, "door/staff-player"), player
        sent = await house.send("dealer", cash_in(house, 5, house.accounts["guest"].name))
        assert outcome(sent) == (403, "door/staff-player")
        sent = await house.send("dealer", cash_in(house, 5, house.id("guest")))
        assert sent.status_code == 200, sent.text

        house.assign("guest", "1", "dealer")
        for command in ({"type": "CloseBetting"}, cash_in(house, 5)):
            assert outcome(await house.send("guest", command)) == (403, "door/plays-here")
        house.assign("supervisor")
        out = {**cash_out(house, 5), "player": house.id("guest")}
        assert (await house.send("dealer", out)).status_code == 200
        assert (await house.send("guest", {"type": "CloseBetting"})).status_code == 200


async def test_staff_do_not_handle_their_own_chips_or_account(house_in_play: HouseApp) -> None:
    """A log from before staff were refused as players may hold both."""
    house, player = house_in_play, house_in_play.id("supervisor")
    await fund(house, who="supervisor")
    seated = BuyIn(by=Actor(id="x", role="dealer"), player=player, amount=1000, age_years=30)
    await house.handler.handle(seated, table="1", account="x", key="seat")

    client = house.client("supervisor", **{"Idempotency-Key": "own"})
    withdrawal = {"type": "Withdraw", "amount": 5}
    sent = await client.post(f"/api/accounts/{player}/commands", json=withdrawal)
    assert outcome(sent) == (403, "door/self")
    command = {**cash_out(house, 5), "player": player}
    assert outcome(await house.send("supervisor", command)) == (403, "door/self")
    request = await house.request("dealer", command)
    assert outcome(await house.approve("supervisor", request)) == (403, "door/self")
    assert (await house.approve("pit-manager", request)).status_code == 200


# --- the terms of a table -----------------------------------------------------------------------


def opening(**changes: Any) -> dict[str, Any]:
    """Return the command that opens the table as it was, with changes."""
    limits = uniform_limits(load(GAME), 5, 10_000_000, 10_000_000)
    return {
        "type": "OpenTable", "table": "1", "currency": "SGD", "mode": "record",
        "chips": [5, 25, 100], "float_amount": 10**9, "limits": msgspec.to_builtins(limits),
    } | changes  # fmt: skip


def changed_terms() -> list[dict[str, Any]]:
    limits = msgspec.to_builtins(uniform_limits(load(GAME), 5, 10**11, 10**11))
    return [
        {"limits": limits},
        {"float_amount": 10**9 + 5},
        {"chips": [5]},
        {"mode": "refuse"},
    ]


async def test_closing_and_opening_a_table_changes_no_terms_alone(house_in_play: HouseApp) -> None:
    house = house_in_play
    assert (await house.send("supervisor", {"type": "CloseTable"})).status_code == 200
    for who in ("dealer", "supervisor", "shift-manager"):
        for changes in changed_terms():
            sent = await house.send(who, opening(**changes))
            assert outcome(sent) == SECOND_PERSON, (who, changes)
    limits = changed_terms()[0]
    request = await house.request("dealer", opening(**limits))
    (event,) = (await house.approve("supervisor", request)).json()["events"]
    assert event["approved_by"] == {"id": house.id("supervisor"), "role": "supervisor"}

    assert (await house.send("supervisor", {"type": "CloseTable"})).status_code == 200
    assert outcome(await house.send("dealer", opening())) == SECOND_PERSON
    again = await house.send("dealer", opening(**limits))
    assert again.status_code == 200, again.text


async def test_table_opens_alone_with_its_closing_float(house_in_play: HouseApp) -> None:
    house = house_in_play
    closed = await house.send("supervisor", {"type": "CloseTable"})
    counted = closed.json()["events"][-1]["float_amount"]
    assert counted != 10**9
    sent = await house.send("dealer", opening(float_amount=counted))
    assert sent.status_code == 200, sent.text


async def test_approved_limits_are_not_undone_by_closing_the_table_before_they_apply(
    house_in_play: HouseApp,
) -> None:
    house = house_in_play
    limits = msgspec.to_builtins(uniform_limits(load(GAME), 5, 500, 500))
    request = await house.request("dealer", {"type": "SetLimits", "limits": limits})
    assert (await house.approve("supervisor", request)).status_code == 200
    assert (await house.send("supervisor", {"type": "CloseTable"})).status_code == 200
    assert outcome(await house.send("supervisor", opening())) == SECOND_PERSON
    sent = await house.send("supervisor", opening(limits=limits))
    assert sent.status_code == 200, sent.text


async def test_new_table_opens_alone_only_with_the_terms_of_the_house_file(house: HouseApp) -> None:
    house.assign("dealer")
    house.assign("supervisor")
    setup = {"type": "EstablishTable", "game": GAME}
    limits = msgspec.to_builtins(uniform_limits(load(GAME), 5, 100))
    terms = {"chips": [5], "float_amount": 0, "limits": limits, "mode": "refuse"}
    other = {**setup, "dealt_by_house": {"betting_seconds": 60}}
    assert outcome(await house.send("supervisor", other)) == SECOND_PERSON
    assert outcome(await house.send("pit-manager", setup, table="2")) == SECOND_PERSON
    assert (await house.send("supervisor", setup)).status_code == 200
    for changes in changed_terms()[:2]:
        sent = await house.send("dealer", opening(**{**terms, **changes}))
        assert outcome(sent) == SECOND_PERSON
    sent = await house.send("dealer", opening(**terms))
    assert sent.status_code == 200, sent.text


async def test_table_is_set_up_for_another_game_by_two_people(house_in_play: HouseApp) -> None:
    house = house_in_play
    assert (await house.send("supervisor", {"type": "CloseTable"})).status_code == 200
    for change in (
        {"game": "sg-rws-tai-sai-v6/c"},
        {"dealt_by_house": {"betting_seconds": 60}},
        {"readings": {"pro-rata": "absorb"}},
    ):
        setup = {"type": "EstablishTable", "game": GAME, **change}
        assert outcome(await house.send("shift-manager", setup)) == SECOND_PERSON, change
        assert outcome(await house.send("supervisor", setup)) == SECOND_PERSON, change
    same = await house.send("supervisor", {"type": "EstablishTable", "game": GAME})
    assert same.status_code == 200, same.text
    request = await house.request("supervisor", setup)
    (event,) = (await house.approve("shift-manager", request)).json()["events"]
    assert event["approved_by"]["id"] == house.id("shift-manager")
    assert outcome(await house.send("supervisor", opening())) == SECOND_PERSON
