"""`threedice log`: the log of a house, proved, told, written out and made again."""

from __future__ import annotations

import csv
import sys
from base64 import b64encode
from contextlib import closing, contextmanager
from dataclasses import replace
from itertools import takewhile
from typing import TYPE_CHECKING

import msgspec

from threedice.cli.output import as_text, print_json, print_line
from threedice.errors import InvalidInput, UnknownName
from threedice.house.audit.auditor import audit
from threedice.house.codec import decode
from threedice.house.dealer.sealed_dice import check_dice
from threedice.house.reports.narrative import describe_stream, explain_player_bets
from threedice.house.reports.statements import rebuild
from threedice.house.stream_state import GameRegistry, table_stream
from threedice.log.proof import IntegrityFinding
from threedice.log.proof.checkpoints import CHECKPOINTS_FILE as CHECKPOINTS
from threedice.log.proof.checkpoints import read_checkpoint_lines
from threedice.log.proof.keys import import_public_keys, read_public_keys, trusted_keys
from threedice.log.stores.sqlite_rows import open_sqlite_rows_with_apsw
from threedice.log.stores.urls import (
    database_exists,
    default_url,
    open_store,
    sqlite_path,
    state_directory,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from threedice.log.entry import Entry
    from threedice.log.proof import VerificationReport
    from threedice.log.proof.keys import PublicKey
    from threedice.log.store import Checkpoint, Store
    from threedice.log.stores.rows import LogRows


@contextmanager
def reading(url: str) -> Iterator[Store]:
    """Open a database that is there."""
    with closing(open_store(_that_is_there(url))) as store:
        yield store


@contextmanager
def proving(url: str) -> Iterator[Store | LogRows]:
    """Give what is to be proved; a file is only read, and may lie where nothing can be written."""
    file = sqlite_path(_that_is_there(url))
    if file is None:
        with reading(url) as store:
            yield store
    else:
        with open_sqlite_rows_with_apsw(file) as rows:
            yield rows


def _that_is_there(url: str) -> str:
    url = url or default_url()
    if not database_exists(url):
        raise InvalidInput(f"there is no database at {url}; name one with --database")
    return url


def keys_of(url: str, file: Path | None) -> dict[str, PublicKey]:
    """Return the keys to trust: those kept with the database, or those of a file.

    With a file, keys kept with the database count where one of the file vouches for them.
    """
    beside = read_public_keys(state_directory(url or default_url()))
    if file is None:
        return beside
    try:
        return trusted_keys(import_public_keys(file.read_bytes()), beside)
    except OSError as error:
        raise InvalidInput(f"{file} cannot be read: {error.strerror}") from None


def checkpoints_of(url: str, file: Path | None) -> tuple[list[Checkpoint], list[IntegrityFinding]]:
    """Return the checkpoints of a file, or those kept beside the database, and lines that are none.

    A file that was named must hold some.
    """
    beside = state_directory(url or default_url()) / CHECKPOINTS
    if file is None and not beside.exists():
        return [], []
    known, troubles = read_checkpoint_lines(file or beside, growing=file is None)
    if file is not None and not known:
        raise InvalidInput(f"{file} holds no checkpoint; name the checkpoints.jsonl of a house")
    return known, [IntegrityFinding(each.where, each.problem) for each in troubles]


def verify(url: str, against: Path | None, keys: Path | None, as_json: bool) -> int:
    """Prove a house's log, and all that is kept beside it; return the exit code."""
    known, garbled = checkpoints_of(url, against)
    with proving(url) as house, progress("verified") as advance:
        report = audit(house, public_keys=keys_of(url, keys), against=known, progress=advance)
    report = replace(report, findings=(*garbled, *report.findings))
    if as_json:
        print_json(
            {
                "sound": report.is_sound,
                "streams": report.streams,
                "entries": report.entries,
                "answers": report.answers,
                "games": report.games,
                "checkpoints": report.checkpoints,
                "findings": [_as_json(each) for each in report.findings],
            }
        )
    else:
        _print_report(report)
    return 0 if report.is_sound else 1


def _as_json(finding: IntegrityFinding) -> dict[str, str]:
    """Return a finding for programs; where it names what is no text, the bytes are said beside."""
    said = {"where": finding.where, "what": finding.what}
    plain = {name: as_text(text) for name, text in said.items()}
    exact = {
        f"{name}_base64": b64encode(text.encode("utf-8", "surrogateescape")).decode()
        for name, text in said.items()
        if plain[name] != text
    }
    return plain | exact


def _print_report(report: VerificationReport) -> None:
    for finding in report.findings:
        print_line(str(finding))
    seen = (
        f"{report.entries} entries in {report.streams} streams, {report.answers} answers, "
        f"{report.games} games, {report.checkpoints} checkpoints"
    )
    count = len(report.findings)
    verdict = "all as it was written" if not count else f"{count} findings"
    print_line(f"{seen}: {verdict}")
    if not report.checkpoints:
        print_line(
            "there is no checkpoint, so a tail that was cut off cannot be seen, nor a past that was"
            " written anew with all its hashes"
        )


def replay(url: str, table: str, to: int | None) -> None:
    """Tell what happened at a table, as a playthrough."""
    with reading(url) as store:
        entries = _entries(store, table)
        if to is not None:
            entries = takewhile(lambda entry: entry.version <= to, entries)
        for line in describe_stream(map(decode, entries), GameRegistry(store).load_pinned):
            print_line(line)


def export(url: str, table: str, as_csv: bool) -> None:
    """Write the entries of a table out, as they are stored."""
    with reading(url) as store:
        entries = _entries(store, table)
        if as_csv:
            writer = csv.writer(sys.stdout, lineterminator="\n")
            writer.writerow(_COLUMNS)
            for entry in entries:
                writer.writerow(_cells(entry))
            return
        for entry in entries:
            row: dict[str, object] = dict(zip(_COLUMNS, _cells(entry), strict=True))
            if _is_json_line(entry.data):
                row["data"] = msgspec.Raw(entry.data)
                del row["data_base64"]
            else:
                row["data_base64"] = b64encode(entry.data).decode()
                del row["data"]
            print_line(msgspec.json.encode(row).decode())


_COLUMNS = ("version", "at", "kind", "schema", "data", "cause", "hash", "data_base64")
"""What is written of an entry; the last instead of `data`, where that is not what it should be."""


def _cells(entry: Entry) -> list[object]:
    try:
        data, exact = entry.data.decode(), ""
    except UnicodeDecodeError:
        data, exact = "", b64encode(entry.data).decode()
    return [
        entry.version,
        entry.at,
        entry.kind,
        entry.schema,
        data,
        entry.cause.hex(),
        entry.hash.hex(),
        exact,
    ]


def _is_json_line(data: bytes) -> bool:
    """Tell whether data can stand as it is within a line of JSON."""
    try:
        msgspec.json.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return False
    return b"\n" not in data and b"\r" not in data


def explain_bets(url: str, table: str, number: int, player: str) -> None:
    """Explain every bet of a player in a round."""
    with reading(url) as store:
        _need_table(store, table)
        told = explain_player_bets(store, GameRegistry(store).load_pinned, table, number, player)
    if told is None:
        raise InvalidInput(f"there was no round {number} at table {table}")
    if not told:
        raise InvalidInput(f"{player} had no bet at table {table} in round {number}")
    for spot, lines in told.items():
        print_line(f"{spot}:")
        for line in lines:
            print_line(f"  {line}")


def rebuild_folds(url: str) -> int:
    """Make everything that follows from the log again; return the exit code."""
    with reading(url) as store, progress("made again") as advance:
        count, damaged = rebuild(store, advance)
    for stream, why in damaged.items():
        print_line(f"{stream}: left as it is: {why}")
    print_line(f"{count} streams made again" + (f", {len(damaged)} damaged" if damaged else ""))
    return 1 if damaged else 0


def verify_dice(url: str, table: str, number: int | None) -> int:
    """Check the dice of a table that the house deals, from the log alone."""
    bad = checked = 0
    with reading(url) as store:
        for each in check_dice(_entries(store, table)):
            if number is not None and each.round != number:
                continue
            checked += 1
            bad += bool(each.problem) and each.dice is not None
            dice = " ".join(map(str, each.dice)) if each.dice else "none"
            print_line(f"round {each.round}: {dice}: {each.problem or 'fair'}")
    if not checked:
        if number is None:
            raise InvalidInput(f"no round of table {table} was dealt by the house")
        raise InvalidInput(f"round {number} of table {table} was not dealt by the house")
    return 1 if bad else 0


def _entries(store: Store, table: str) -> Iterator[Entry]:
    """Yield the entries of a table, which must have some."""
    _need_table(store, table)
    return store.scan(table_stream(table))


def _need_table(store: Store, table: str) -> None:
    if not store.head(table_stream(table)).version:
        known = [each for each in store.streams() if each.startswith("table/")]
        raise UnknownName("table", table, [each.removeprefix("table/") for each in known])


@contextmanager
def progress(what: str) -> Iterator[Callable[[int, int], None] | None]:
    """Show how far long work has come, where somebody is looking."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
    )

    columns = (TextColumn(what), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(what)
        yield lambda done, total: bar.update(task, completed=done, total=total)
