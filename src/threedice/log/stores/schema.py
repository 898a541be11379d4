"""The tables of the log and of identity: columns and keys, in the order in which rows are read.

`threedice/db/migrations` creates them. A test compares the two.
"""

from __future__ import annotations

from typing import Final, NamedTuple


class DatabaseTable(NamedTuple):
    """A table: its columns in order, the columns of its primary key, and those never recorded."""

    name: str
    columns: tuple[str, ...]
    key: tuple[str, ...]
    volatile: tuple[str, ...] = ()

    @property
    def column_list(self) -> str:
        """The columns, as they stand in a statement."""
        return ", ".join(self.columns)

    @property
    def recorded_columns(self) -> tuple[str, ...]:
        """The columns that people's records cover."""
        return tuple(column for column in self.columns if column not in self.volatile)


def _table(name: str, columns: str, key: str, volatile: str = "") -> DatabaseTable:
    return DatabaseTable(name, tuple(columns.split()), tuple(key.split()), tuple(volatile.split()))


streams = _table("streams", "stream version hash mac", "stream")
entries = _table("entries", "stream version at kind schema data cause hash", "stream version")
answers = _table("answers", "account key command_hash spans refusal", "account key")
games = _table("games", "hash canonical", "hash")
snapshots = _table("snapshots", "stream name form version hash data", "stream name")
lines = _table("lines", "view subject stream version place at data", "view stream version place")
views = _table("views", "view stream version", "view stream")
checkpoints = _table("checkpoints", "number body key_id signature", "number")
leases = _table("leases", "name holder until", "name")
people = _table("people", "player data", "player")
meta = _table("meta", "name value", "name")

TABLES: Final = (
    streams, entries, answers, games, snapshots, lines, views, checkpoints, leases, people, meta,
)  # fmt: skip

accounts = _table(
    "people_accounts",
    "id name roles enabled created password first_until enrolled_by reset_by held_by confirmed",
    "id",
)
assignments = _table("people_assignments", "id account place role starts ends", "id")
attempts = _table("people_attempts", "mark failures latest", "mark")
access_changes = _table("people_changes", "number account session what", "number")
codes = _table("people_codes", "account secret pending step", "account")
devices = _table("people_devices", "digest account session used", "account digest", "used")
displays = _table("people_displays", "id digest prefix place label created made_by", "id")
enrolments = _table(
    "people_enrolments", "id account kind roles asked_by asked state decided_by decided", "id"
)
events = _table("people_events", "number at kind account actor source detail", "number")
identity_meta = _table("people_meta", "name value", "name")
records = _table("people_records", "name key salt", "name key")
recovery = _table("people_recovery", "account mark", "account mark")
requests = _table(
    "people_requests",
    "id account place command command_hash reason roles opened expires state decided_by decided"
    " note",
    "id",
)
sessions = _table(
    "people_sessions", "id digest account created seen ends locked factor", "id", "seen"
)
tokens = _table(
    "people_tokens", "id digest prefix account name scopes created expires used", "id", "used"
)

IDENTITY_TABLES: Final = (
    accounts, assignments, attempts, access_changes, codes, devices, displays, enrolments, events,
    identity_meta, records, recovery, requests, sessions, tokens,
)  # fmt: skip
"""The tables whose names begin with `people_`; an auditor's copy of the log lacks them."""

ADDED_COLUMNS: Final = {"streams": ("mac",), "answers": ("refusal",)}
"""Columns of bytes that older databases do not have; they are read as empty."""

RECORDED_TABLES: Final = (
    people, accounts, assignments, codes, devices, displays, enrolments, events, identity_meta,
    recovery, requests, sessions, tokens,
)  # fmt: skip
"""The tables about people whose every change is recorded in the log (`log.record_chain`)."""

ENTRY_COLUMNS: Final = entries.column_list
ANSWER_COLUMNS: Final = answers.column_list
