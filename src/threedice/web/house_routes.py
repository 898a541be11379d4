"""The house itself: what it is called, whether its log is sound, and letting it write again."""

from __future__ import annotations

from typing import Annotated, Any, Final

import msgspec

from threedice.errors import OperatingFailure, QueueFull
from threedice.floor.auditing import audit
from threedice.log.checkpoints import FILE, read_checkpoints
from threedice.log.keys import public_keys
from threedice.web.answering import Operation, Visit, in_turn, operation
from threedice.web.problems import Turned
from threedice.web.texts import LANGUAGES, Language


class HouseView(msgspec.Struct, frozen=True):
    """What everybody may know of a house before signing in; `demo` lists its sign-ins, if any."""

    name: str
    currency: str
    time_zone: str
    gaming_day_starts: str
    languages: tuple[Language, ...]
    server_time: int
    suspended: bool
    demo: list[dict[str, Any]]


class FindingView(msgspec.Struct, frozen=True):
    """Something that is not as it was written, and where."""

    where: str
    what: str


class Verified(msgspec.Struct, frozen=True):
    """What was looked at, and everything that is wrong with it."""

    sound: bool
    streams: int
    entries: int
    answers: int
    games: int
    checkpoints: int
    findings: list[FindingView]


class Reason(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Why something is done."""

    reason: Annotated[str, msgspec.Meta(min_length=1, max_length=500, pattern=r"\S")]


@operation("show-house", "GET", "/api/house", answer=HouseView)
async def show_house(visit: Visit) -> HouseView:
    """Tell what the house is called, its currency, its time, and the sign-ins of a demo."""
    described, house = visit.context.house_file, visit.context.house
    return HouseView(
        name=described.name,
        currency=described.currency,
        time_zone=described.time_zone,
        gaming_day_starts=described.gaming_day_starts.isoformat("minutes"),
        languages=LANGUAGES,
        server_time=house.clock.now(),
        suspended=bool(house.floor.suspended),
        demo=[msgspec.to_builtins(each) for each in visit.context.demo],
    )


@operation("verify-log", "POST", "/api/log/verification", answer=Verified, problems=(503,))
async def verify_log(visit: Visit) -> Verified:
    """Prove the whole log as it is now, and all that is kept beside it."""
    house = visit.context.house

    def proved() -> Any:
        beside = house.state / FILE
        against = read_checkpoints(beside) if beside.exists() else []
        return audit(house.floor.store, public_keys=public_keys(house.state), against=against)

    if visit.context.proving.locked():
        raise QueueFull("the log is being proved already; ask again later")
    report = await in_turn(visit.context.proving, proved)
    return Verified(
        sound=report.is_sound,
        streams=report.streams,
        entries=report.entries,
        answers=report.answers,
        games=report.games,
        checkpoints=report.checkpoints,
        findings=[FindingView(each.where, each.what) for each in report.findings],
    )


@operation(
    "release-house", "POST", "/api/house/release", body=Reason, status=204, problems=(409, 503)
)
async def release_house(visit: Visit) -> None:
    """Let a suspended house write again, now that somebody has looked at what failed."""
    house = visit.context.house
    if not house.floor.suspended:
        raise Turned(409, "house/not-suspended")
    try:
        await house.release(visit.account, visit.body.reason)
    except OperatingFailure as failure:
        if not house.floor.suspended:  # somebody else was quicker
            raise Turned(409, "house/not-suspended") from failure
        raise Turned(503, "house/suspended") from failure


HOUSE_OPERATIONS: Final[tuple[Operation, ...]] = (show_house, verify_log, release_house)
