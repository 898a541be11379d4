"""`threedice log` and `verify-dice`: verify, replay, export, copy, explain and rebuild a log.

The package `house` is slow to import, so it is imported within the functions that use it.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterator
from contextlib import AbstractContextManager, closing
from itertools import takewhile
from pathlib import Path
from typing import Annotated

import msgspec
import typer

from threedice.cli.arguments import (
    AgainstOption,
    DatabaseOption,
    JsonOption,
    PublicKeysOption,
    TableArgument,
    argument,
    command_group,
    option,
)
from threedice.cli.output import (
    escape_undecodable,
    format_time,
    print_csv,
    print_json,
    print_line,
    progress_callback,
)
from threedice.db.schema import TablePolicy
from threedice.errors import InvalidInput, UnknownName
from threedice.extras import require_extra
from threedice.log.entry import Entry
from threedice.log.proof import IntegrityFinding, VerificationReport
from threedice.log.proof.checkpoint_files import CHECKPOINTS_FILE, CheckpointFiles
from threedice.log.proof.checkpoints import RestoreMark
from threedice.log.proof.head_macs import read_adopted_macs, read_head_macs
from threedice.log.proof.keys import PublicKey, import_public_keys, read_public_keys, trusted_keys
from threedice.log.records import Checkpoint
from threedice.log.store import Store
from threedice.log.stores.rows import LogRows, open_rows
from threedice.log.stores.sqlite_rows import open_house_file
from threedice.log.stores.urls import (
    database_exists,
    default_url,
    open_store,
    refuse_interrupted_restore,
    sqlite_path,
    state_directory,
)

commands = command_group()
log_commands = command_group("Verify, replay, export, explain, copy and rebuild a log.")
commands.add_typer(log_commands, name="log")


# --- opening a house ----------------------------------------------------------------------------


def open_log(url: str, *, writing: bool = False) -> closing[Store]:
    """Open the log of an existing database; unless `writing`, nothing is changed on its disk."""
    tables: TablePolicy = "require" if writing else "read"
    return closing(open_store(require_database(url), tables=tables, read_only=not writing))


def open_for_audit(url: str) -> AbstractContextManager[Store | LogRows]:
    """Open a log to verify it; a SQLite file is opened read-only."""
    file = sqlite_path(require_database(url))
    return open_log(url) if file is None else open_house_file(file)


def require_database(url: str) -> str:
    """Return the URL, or that of the default database; raise InvalidInput if it does not exist."""
    url = url or default_url()
    refuse_interrupted_restore(url)
    if not database_exists(url):
        raise InvalidInput(f"there is no database at {url}; name one with --database")
    return url


def load_trusted_keys(url: str, file: Path | None) -> dict[str, PublicKey]:
    """Load the public keys to trust: those of the file, or those of the state directory.

    With a file, keys of the state directory are trusted only if a key of the file vouches for
    them.
    """
    stored = read_public_keys(state_directory(url or default_url()))
    if file is None:
        return stored
    try:
        return trusted_keys(import_public_keys(file.read_bytes()), stored)
    except OSError as error:
        raise InvalidInput(f"{file} cannot be read: {error.strerror}") from None


def load_checkpoints(url: str, file: Path | None) -> CheckpointFiles:
    """Return the checkpoints of the state directory and of a given file, to be read line by line.

    A given file must hold at least one checkpoint.
    """
    stored = state_directory(url or default_url()) / CHECKPOINTS_FILE
    own = stored if stored.exists() else None
    if file is None:
        return CheckpointFiles(growing=own)
    if not any(isinstance(each, Checkpoint) for each in CheckpointFiles((file,))):
        raise InvalidInput(f"{file} holds no checkpoint; name the checkpoints.jsonl of a house")
    is_own = own is not None and own.samefile(file)
    return CheckpointFiles(() if is_own else (file,), own)


# --- verify -------------------------------------------------------------------------------------


@log_commands.command("verify")
def verify_log(
    against: AgainstOption = None,
    public_keys: PublicKeysOption = None,
    database: DatabaseOption = "",
    as_json: JsonOption = False,
) -> None:
    """Verify the log and all data derived from it.

    Checks hash chains, answers, games, checkpoints, snapshots, projections, balances, the rows
    about people, and the tables and indexes of the database. The exit code is 1 if there are
    findings.
    """
    from threedice.house.audit.auditor import audit

    checkpoints = load_checkpoints(database, against)
    with open_for_audit(database) as house, progress_callback("verifying") as progress:
        trusted = load_trusted_keys(database, public_keys)
        report = audit(
            house,
            public_keys=trusted,
            against=checkpoints,
            head_macs=read_head_macs(state_directory(database or default_url())),
            progress=progress,
        )
    if as_json:
        print_json(
            {
                "sound": report.is_sound,
                "streams": report.streams,
                "entries": report.entries,
                "answers": report.answers,
                "games": report.games,
                "checkpoints": report.checkpoints,
                "people": report.people,
                "notes": report.notes,
                "findings": [_finding_json(each) for each in report.findings],
                "unsigned": _unsigned_json(report),
                "restores": [_restore_json(each) for each in report.restores],
            }
        )
    else:
        _print_report(report)
    raise typer.Exit(0 if report.is_sound else 1)


def _finding_json(finding: IntegrityFinding) -> dict[str, str]:
    """Return a finding for JSON; texts that are not UTF-8 are added in base64."""
    texts = {"where": finding.where, "what": finding.what}
    escaped = {key: escape_undecodable(text) for key, text in texts.items()}
    exact = {
        f"{key}_base64": b64encode(text.encode("utf-8", "surrogateescape")).decode()
        for key, text in texts.items()
        if escaped[key] != text
    }
    return escaped | exact


def _unsigned_json(report: VerificationReport) -> dict[str, object]:
    tails = [
        {
            "stream": escape_undecodable(tail.stream),
            "first": tail.first,
            "last": tail.last,
            "first_at": _format_entry_time(tail.first_at),
            "last_at": _format_entry_time(tail.last_at),
        }
        for tail in report.unsigned
    ]
    return {"entries": report.unsigned_entries, "macs": report.judged_macs, "streams": tails}


def _describe_unsigned(report: VerificationReport) -> str:
    """Describe the entries after the last checkpoint, and who can tell whether they are genuine."""
    tails, count = report.unsigned, report.unsigned_entries
    first, last = min(tail.first_at for tail in tails), max(tail.last_at for tail in tails)
    streams = tails[0].stream if len(tails) == 1 else f"{len(tails)} streams"
    streams, since = escape_undecodable(streams), _format_entry_time(first)
    if count == 1:
        unsigned, macs, them = f"1 entry of {streams} of {since} is", "its MAC was", "it"
    else:
        until = _format_entry_time(last)
        unsigned = f"{count} entries of {streams} from {since} to {until} are"
        macs, them = "their MACs were", "them"
    judged = (
        f"{macs} checked"
        if report.judged_macs
        else f"whether the house wrote {them} can be checked only with its keys/log.key"
    )
    return f"{unsigned} not signed by a checkpoint yet; {judged}"


def _format_entry_time(at: int) -> str:
    """Format the time of an entry, which may be one that nobody should trust."""
    try:
        return format_time(at)
    except (ValueError, OverflowError, OSError):
        return f"{at} microseconds"


def _restore_json(mark: RestoreMark) -> dict[str, object]:
    given_up = [mark.after + 1, mark.last] if mark.last > mark.after else []
    return {
        "checkpoint": mark.number,
        "at": format_time(mark.at),
        "after": mark.after,
        "given_up": given_up,
    }


def _describe_restore(mark: RestoreMark) -> str:
    given_up = (
        f"checkpoints {mark.after + 1} to {mark.last} were given up"
        if mark.last > mark.after
        else "no later checkpoint was known"
    )
    return (
        f"restored at {format_time(mark.at)}, before checkpoint {mark.number}, from a backup up to"
        f" checkpoint {mark.after}; {given_up}"
    )


def _print_report(report: VerificationReport) -> None:
    for finding in report.findings:
        print_line(str(finding))
    counts = (
        f"{report.entries} entries in {report.streams} streams, {report.answers} answers, "
        f"{report.games} games, {report.checkpoints} checkpoints, {report.people} rows about people"
    )
    count = len(report.findings)
    print_line(f"{counts}: " + ("1 finding" if count == 1 else f"{count or 'no'} findings"))
    for note in report.notes:
        print_line(note)
    if report.unsigned:
        print_line(_describe_unsigned(report))
    for restore in report.restores:
        print_line(_describe_restore(restore))
    if not report.checkpoints:
        print_line(
            "there is no checkpoint, so neither a truncated stream nor a history that was "
            "rewritten with all its hashes can be detected"
        )


# --- replay and export --------------------------------------------------------------------------


@log_commands.command("replay")
def replay_log(
    table: TableArgument,
    to: Annotated[int | None, option("VERSION", "Stop after this version.", min=1)] = None,
    database: DatabaseOption = "",
) -> None:
    """Print the history of a table in words."""
    from threedice.house.codec import decode
    from threedice.house.reports.narrative import describe_stream
    from threedice.house.stream_state import GameRegistry

    with open_log(database) as store:
        entries = table_entries(store, table)
        if to is not None:
            entries = takewhile(lambda entry: entry.version <= to, entries)
        for line in describe_stream(map(decode, entries), GameRegistry(store).load_pinned):
            print_line(line)


@log_commands.command("export")
def export_log(
    table: Annotated[
        str, argument("[TABLE]", "The id of a table; with --parquet all streams if omitted.")
    ] = "",
    jsonl: Annotated[
        bool, typer.Option("--jsonl", help="Print one JSON object per line; the default.")
    ] = False,
    csv: Annotated[bool, typer.Option("--csv", help="Print CSV with a header.")] = False,
    parquet: Annotated[
        Path | None,
        option("FOLDER", "Write entries, postings and statement rows to this new folder."),
    ] = None,
    database: DatabaseOption = "",
) -> None:
    """Print the stored entries of a table, or write a log as Parquet.

    The columns of the Parquet files are described in docs/reference/parquet.md; --parquet needs
    the extra "research".
    """
    if jsonl + csv + (parquet is not None) > 1:
        raise typer.BadParameter("choose one of --jsonl, --csv and --parquet")
    if parquet is not None:
        _export_parquet(table, parquet, database)
        return
    if not table:
        raise InvalidInput("the id of the table is missing; only --parquet exports all streams")
    with open_log(database) as store:
        entries = table_entries(store, table)
        if csv:
            print_csv(_EXPORT_COLUMNS, map(_export_csv, entries))
        else:
            for entry in entries:
                print_line(_export_json(entry))


def _export_parquet(table: str, folder: Path, url: str) -> None:
    """Write the stream of a table, or all streams, to Parquet files."""
    require_extra("research", "log export --parquet")
    from threedice.house.stream_state import table_stream
    from threedice.research.log_export import export_log as export_streams

    with open_log(url) as store, progress_callback("exporting") as progress:
        if table:
            require_table(store, table)
        streams = [table_stream(table)] if table else None
        counts = export_streams(store, folder, streams, progress)
    print_line(f"{folder}: " + ", ".join(f"{count} {name}" for name, count in counts.items()))


_EXPORT_COLUMNS = ("version", "at", "kind", "schema", "data", "cause", "hash", "data_base64")


def _export_csv(entry: Entry) -> list[object]:
    try:
        return _export_cells(entry, entry.data.decode())
    except UnicodeDecodeError:
        return _export_cells(entry, None)


def _export_json(entry: Entry) -> str:
    data = msgspec.Raw(entry.data) if _is_json_line(entry.data) else None
    cells = zip(_EXPORT_COLUMNS, _export_cells(entry, data), strict=True)
    row = {column: cell for column, cell in cells if cell is not None}
    return msgspec.json.encode(row).decode()


def _export_cells(entry: Entry, data: str | msgspec.Raw | None) -> list[object]:
    """Return the columns of an entry; data that is not valid is in base64 in the last one."""
    data_base64 = b64encode(entry.data).decode() if data is None else None
    cause, entry_hash = entry.cause.hex(), entry.hash.hex()
    return [
        entry.version, entry.at, entry.kind, entry.schema, data, cause, entry_hash, data_base64
    ]  # fmt: skip


def _is_json_line(data: bytes) -> bool:
    """Return whether data can be embedded unchanged in a line of JSON."""
    try:
        msgspec.json.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return False
    return b"\n" not in data and b"\r" not in data


@log_commands.command("copy")
def copy_log(
    file: Annotated[Path, argument("FILE", "The file to create; it must not exist.")],
    database: DatabaseOption = "",
) -> None:
    """Copy the log up to its last checkpoint to a file, for auditors.

    The copy is an SQLite file without keys, sign-ins or personal data. `log verify --database FILE`
    verifies it.
    """
    from threedice.log.proof import log_copy

    with open_for_audit(database) as opened, open_rows(opened) as rows:
        counts = log_copy.copy_log(rows, file)
    print_line(f"{file}: " + ", ".join(f"{count} {name}" for name, count in counts.items()))


# --- explain, rebuild and verify-dice -----------------------------------------------------------


@log_commands.command("explain")
def explain_log(
    table: TableArgument,
    number: Annotated[int, argument("ROUND", "The number of the round.")],
    player: Annotated[str, argument("PLAYER", "The id of the player.")],
    database: DatabaseOption = "",
) -> None:
    """Explain the payouts of a player's bets in a round."""
    from threedice.house.reports.narrative import explain_player_bets
    from threedice.house.stream_state import GameRegistry
    from threedice.table.explanation_texts import format_line

    with open_log(database) as store:
        table_entries(store, table)
        explained = explain_player_bets(
            store, GameRegistry(store).load_pinned, table, number, player
        )
    if explained is None:
        raise InvalidInput(f"there was no round {number} at table {table}")
    game, bets = explained
    if not bets:
        raise InvalidInput(f"{player} had no bet at table {table} in round {number}")
    for spot, bet in bets.items():
        print_line(f"{spot}:")
        for line in bet.lines:
            print_line(f"  {format_line(game, line)}")


@log_commands.command("rebuild")
def rebuild_log(database: DatabaseOption = "") -> None:
    """Rebuild snapshots and projections from the log.

    Damaged streams are reported and keep the data they have; the exit code is 1 then.
    """
    raise typer.Exit(rebuild_projections(database))


def rebuild_projections(url: str) -> int:
    """Rebuild snapshots and projections, print the result, and return the exit code."""
    from threedice.house.reports.rebuild import rebuild

    with (
        open_log(url, writing=True) as store,
        progress_callback("rebuilding") as progress,
    ):
        store.head_macs = read_adopted_macs(store.database, state_directory(url or default_url()))
        count, damaged = rebuild(store, progress)
    for stream, reason in damaged.items():
        print_line(f"{stream}: not rebuilt: {reason}")
    print_line(f"{count} streams rebuilt" + (f", {len(damaged)} damaged" if damaged else ""))
    return 1 if damaged else 0


@commands.command("verify-dice")
def verify_dice(
    table: TableArgument,
    number: Annotated[int | None, option("N", "Verify this round only.", "--round")] = None,
    database: DatabaseOption = "",
) -> None:
    """Verify the dice of a house-dealt table from the log.

    The exit code is 1 if the dice of a round do not follow from a valid commitment.
    """
    from threedice.house.dealer.sealed_dice import check_dice

    failed = checked = 0
    with open_log(database) as store:
        for each in check_dice(table_entries(store, table)):
            if number is not None and each.round != number:
                continue
            checked += 1
            failed += bool(each.problem) and each.dice is not None
            dice = " ".join(map(str, each.dice)) if each.dice else "none"
            print_line(f"round {each.round}: {dice}: {each.problem or 'fair'}")
    if not checked:
        if number is None:
            raise InvalidInput(f"no round of table {table} was dealt by the house")
        raise InvalidInput(f"round {number} of table {table} was not dealt by the house")
    raise typer.Exit(1 if failed else 0)


def table_entries(store: Store, table: str) -> Iterator[Entry]:
    """Return the entries of a table; raise UnknownName if there is none."""
    from threedice.house.stream_state import table_stream

    require_table(store, table)
    return store.scan(table_stream(table))


def require_table(store: Store, table: str) -> None:
    """Raise UnknownName if the log has no such table."""
    from threedice.house.stream_state import table_stream

    if not store.head(table_stream(table)).version:
        raise UnknownName("table", table, table_ids(store))


def table_ids(store: Store) -> list[str]:
    """Return the ids of the tables in a log."""
    prefix = "table/"
    return [each.removeprefix(prefix) for each in store.streams() if each.startswith(prefix)]
