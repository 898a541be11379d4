"""`threedice backup` and `restore`: the whole house in one encrypted file.

The package `house` is slow to import, so it is imported within the functions that use it.
"""

from __future__ import annotations

import os
import sys
import time
from contextlib import ExitStack, suppress
from getpass import getpass, getuser
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import msgspec
import typer

from threedice.cli.arguments import (
    AgainstOption,
    DatabaseOption,
    PublicKeysOption,
    argument,
    command_group,
    default_house_file,
    option,
    repeatable,
)
from threedice.cli.log import (
    load_checkpoints,
    load_trusted_keys,
    open_for_audit,
    rebuild_projections,
    require_database,
)
from threedice.cli.output import format_time, print_line, progress_callback
from threedice.errors import InvalidInput, InvalidToml
from threedice.identity.accounts import validate_text
from threedice.identity.audit_trail import CONSOLE
from threedice.identity.authentication.passwords import validate_passphrase
from threedice.identity.errors import PasswordRefused
from threedice.log.proof import describe_versions, keys
from threedice.log.proof.checkpoint_files import (
    CHECKPOINTS_FILE,
    read_last_lines,
)
from threedice.log.stores import schema
from threedice.log.stores.rows import open_rows
from threedice.log.stores.table_copies import read_rows
from threedice.log.stores.urls import default_url, state_directory
from threedice.toml_files import parse_toml
from threedice.version import describe_version

if TYPE_CHECKING:
    from threedice.cli.doctor import LastBackup
    from threedice.house.backup.container import Decryption, Encryption
    from threedice.house.backup.restore import VerifiedBackup
    from threedice.house.events import HouseRestored
    from threedice.log.stores.rows import LogRows

commands = command_group()

PASSPHRASE_VARIABLE: Final = "THREEDICE_BACKUP_PASSPHRASE"
MAX_LISTED: Final = 20
"""Lines that are listed of what a restore gives up, and of players without an account."""

PassphraseFileOption = Annotated[
    Path | None,
    option(
        "FILE",
        f"A file with the passphrase; if omitted, it is taken from {PASSPHRASE_VARIABLE} or asked "
        "for.",
        "--passphrase-file",
    ),
]


# --- backup -------------------------------------------------------------------------------------


@commands.command("backup")
def backup(
    file: Annotated[Path, argument("FILE", "The file to create; it must not exist.")],
    passphrase_file: PassphraseFileOption = None,
    recipient: Annotated[
        list[str] | None,
        repeatable("AGE1...", "Encrypt to this age recipient instead of a passphrase"),
    ] = None,
    house: Annotated[
        Path | None,
        option("FILE", "The house file; the one that the house was last served with if omitted."),
    ] = None,
    database: DatabaseOption = "",
) -> None:
    """Back up the whole house to one encrypted file.

    It holds the log, accounts and sign-ins, keys, and the house file. The house may be in service
    meanwhile; nothing is written to its database.
    """
    from threedice.cli.doctor import LastBackup
    from threedice.house.backup.create import create_backup
    from threedice.log.stores.new_files import refuse_existing

    refuse_existing(file)
    url = require_database(database)
    state = state_directory(url)
    house_file, now = _read_house_file(state, house), time.time_ns() // 1000
    encryption = _choose_encryption(passphrase_file, recipient or [], house_file)
    signed = read_last_lines(state / CHECKPOINTS_FILE)
    with (
        open_for_audit(url) as opened,
        open_rows(opened) as rows,
        progress_callback("verifying the copy") as progress,
    ):
        summary = create_backup(
            rows,
            file,
            state_dir=state,
            house_file=house_file,
            encryption=encryption,
            program=describe_version(),
            now=now,
            signed=signed,
            progress=progress,
        )
    _record_backup(state, LastBackup(now, str(file.absolute()), summary.rows["streams"]))
    names = {"people_accounts": "accounts", "people_events": "security events"}
    counted = ("people_accounts", "streams", "entries", "checkpoints", "people_events")
    counts = ", ".join(f"{summary.rows[each]} {names.get(each, each)}" for each in counted)
    print_line(f"{file}: {counts}, keys" + (", house file" if house_file else ""))
    if house_file is None:
        print_line("there is no house file in it; name it with --house to include it")
    if summary.is_weakly_sealed:
        print_line(describe_weak_seal(summary.work_factor))


def describe_weak_seal(work_factor: int | None) -> str:
    """Say how much easier a passphrase is to try than it should be, and what to do."""
    from threedice.house.backup.container import MIN_WORK_FACTOR

    return (
        "this machine was too busy, or is too slow, to protect the passphrase well: trying one"
        f" takes 2^{work_factor} steps instead of 2^{MIN_WORK_FACTOR} or more. Back up again when"
        " the machine is idle, take a longer passphrase, or use --recipient"
    )


def _record_backup(state: Path, backup: LastBackup) -> None:
    """Record a backup for `threedice doctor`, unless the disk does not allow it."""
    from threedice.cli.doctor import LAST_BACKUP_FILE
    from threedice.house.backup.contents import write_file

    with suppress(OSError):
        write_file(state / LAST_BACKUP_FILE, msgspec.json.encode(backup))


def _choose_encryption(
    passphrase_file: Path | None, recipients: list[str], house_file: bytes | None
) -> Encryption:
    from threedice.house.backup.container import Encryption, parse_recipients

    if recipients:
        if passphrase_file is not None:
            raise InvalidInput("give --recipient or --passphrase-file, not both")
        return parse_recipients(recipients)
    if passphrase_file is not None:
        _require_private(passphrase_file)
    passphrase = _read_passphrase(passphrase_file, confirm=True)
    try:
        validate_passphrase(passphrase, _house_name(house_file))
    except PasswordRefused:
        raise InvalidInput(
            "this passphrase is too easy to guess, and a backup holds every key of the house; take "
            "four random words or more, or encrypt to an age recipient with --recipient"
        ) from None
    return Encryption(passphrase=passphrase)


def _require_private(file: Path) -> None:
    """Refuse a file with a new passphrase that other users may read, as with the house's keys."""
    with suppress(OSError):  # reading it reports the error
        if file.stat().st_mode & 0o077:
            raise InvalidInput(
                f"{file} is open to other users; run chmod 0600 {file}, and choose another "
                "passphrase if they may have read it"
            )


def _house_name(house_file: bytes | None) -> str:
    """Return the name of the house, or an empty text if its file does not give it."""
    text = (house_file or b"").decode("utf-8-sig")
    try:
        return str(parse_toml(text, "the house file").get("name", ""))
    except InvalidToml:
        return ""


def _read_passphrase(file: Path | None, *, confirm: bool = False) -> str:
    if file is not None:
        passphrase = _read_text(file).rstrip("\r\n")
    elif PASSPHRASE_VARIABLE in os.environ:
        passphrase = os.environ[PASSPHRASE_VARIABLE]
    elif sys.stdin.isatty():
        passphrase = getpass("passphrase of the backup: ", stream=sys.stderr)
        if confirm and getpass("the same again: ", stream=sys.stderr) != passphrase:
            raise InvalidInput("the two passphrases differ")
    else:
        raise InvalidInput(
            "a backup is encrypted: name a file with its passphrase with --passphrase-file, or set "
            f"{PASSPHRASE_VARIABLE}"
        )
    if not passphrase:
        raise InvalidInput("the passphrase is empty")
    return passphrase


def _read_house_file(state: Path, given: Path | None) -> bytes | None:
    """Return the house file: a given one, or the one that the house was last served with."""
    from threedice.house.backup.contents import HOUSE_FILE_NAME

    if given is not None:
        return _read_text(given).encode()
    for file in (state / HOUSE_FILE_NAME, default_house_file()):
        if file.exists():
            return _read_text(file).encode()
    return None


def _read_text(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidInput(f"{file} cannot be read: {error}") from None


# --- restore ------------------------------------------------------------------------------------


@commands.command("restore")
def restore(
    file: Annotated[Path, argument("FILE", "A backup.")],
    passphrase_file: PassphraseFileOption = None,
    identity: Annotated[
        Path | None, option("FILE", "An age identity file, for a backup to its recipient.")
    ] = None,
    public_keys: PublicKeysOption = None,
    against: AgainstOption = None,
    by: Annotated[
        str, option("NAME", "Who restores the house, for the log; the current user if omitted.")
    ] = "",
    house: Annotated[
        Path | None,
        option("FILE", "Where to write the house file; the user's own house.toml if omitted."),
    ] = None,
    check: Annotated[
        bool, typer.Option("--check", help="Verify the backup, and restore nothing.")
    ] = False,
    database: DatabaseOption = "",
) -> None:
    """Verify a backup and restore the house to an empty database.

    Keys go to the state directory of the database, unless they are there already. The restore is
    recorded in the log, with everything that it gives up. If it is interrupted, repeat it.
    """
    from threedice.house.audit.auditor import audit
    from threedice.house.backup.restore import open_backup, restore_backup
    from threedice.house.backup.restore_mark import mark_restore

    url, by = database or default_url(), validate_text("the name", by or _user_name())
    state = state_directory(url)
    with ExitStack() as restoring:
        if not check:
            restoring.enter_context(mark_restore(url, state))
        with (
            progress_callback("verifying") as progress,
            open_backup(
                file,
                folder=state,
                decryption=_choose_decryption(passphrase_file, identity),
                trusted=load_trusted_keys(url, public_keys) if public_keys else None,
                own_keys=keys.read_public_keys(state),
                outside=load_checkpoints(url, against),
                verify=audit,
                progress=progress,
            ) as opened,
        ):
            if check:
                _print_contents(opened)
                print_line("the backup is sound; nothing was restored")
                return
            house_target = _check_house_target(opened, house)
            now = time.time_ns() // 1000
            event = restore_backup(opened, url, state_dir=state, by=by, now=now, progress=progress)
            written = _write_house_file(opened, state, house_target)
            restoring.close()  # what follows can be derived again
            code = rebuild_projections(url)
            _print_contents(opened)
            print_line(f"keys: {state}")
            if written:
                print_line(f"house file: {written}")
            _print_given_up(event)
            if opened.manifest is None:
                _print_missing_accounts(opened)
    raise typer.Exit(code)


def _user_name() -> str:
    try:
        return getuser()
    except (KeyError, OSError):  # a user that the system does not know
        return CONSOLE


def _choose_decryption(passphrase_file: Path | None, identity: Path | None) -> Decryption:
    from threedice.house.backup.container import Decryption, parse_identities

    if identity is not None:
        return Decryption(parse_identities(_read_text(identity)))
    return Decryption(ask_passphrase=lambda: _read_passphrase(passphrase_file))


def _check_house_target(opened: VerifiedBackup, given: Path | None) -> Path:
    """Return where to write the house file; refuse to overwrite a given file that differs."""
    data = opened.manifest.house_file if opened.manifest else None
    if given is not None and given.is_dir():
        raise InvalidInput(f"{given} is a folder; name the file to write the house file to")
    if given is not None and data is not None and given.exists() and given.read_bytes() != data:
        raise InvalidInput(f"{given} differs from the house file in the backup; name a new file")
    return given or default_house_file()


def _write_house_file(opened: VerifiedBackup, state: Path, target: Path) -> Path | None:
    """Write the house file into the state directory, and to the target if that does not exist."""
    from threedice.house.backup.contents import HOUSE_FILE_NAME, write_file

    if opened.manifest is None or (data := opened.manifest.house_file) is None:
        return None
    write_file(state / HOUSE_FILE_NAME, data)
    if not target.exists():
        write_file(target, data)
    return target if target.read_bytes() == data else state / HOUSE_FILE_NAME


def _print_contents(opened: VerifiedBackup) -> None:
    with open_rows(opened.database) as rows:
        heads = [name for name, *_ in read_rows(rows, schema.streams)]
        accounts = _count_accounts(rows)
    tables = sum(name.startswith("table/") for name in heads)
    players = sum(name.startswith("cage/") for name in heads)
    if opened.created:
        by = f", made by threedice {opened.manifest.program}" if opened.manifest else ""
        print_line(f"a backup of {format_time(opened.created)}{by}")
    report = opened.report
    print_line(
        f"{accounts} accounts, {tables} tables, {players} players' accounts, "
        f"{report.entries} entries in {report.streams} streams, verified"
    )


def _count_accounts(rows: LogRows) -> int:
    accounts = schema.DatabaseTable("people_accounts", ("id",), ("id",))
    return sum(1 for _ in read_rows(rows, accounts))


def _print_given_up(event: HouseRestored) -> None:
    if event.given_up_checkpoints is None:
        print_line("given up: nothing that is known of; see --against")
        return
    first, last = event.given_up_checkpoints
    print_line(f"given up: checkpoints {first} to {last}, and these entries that they signed:")
    lines = [describe_versions(name, *span) for name, span in event.given_up.items()]
    _print_lines(lines or ["none: the backup has them all"])


def _print_missing_accounts(opened: VerifiedBackup) -> None:
    """Say that a plain backup holds no sign-ins, and how to give players theirs back."""
    from threedice.house.persons import Person

    print_line(
        "this backup of an earlier version holds neither sign-ins nor keys: put back keys/ and "
        "people.key of the state directory if you have them, and create the accounts again, those "
        "of players with their ids:"
    )
    with open_rows(opened.database) as rows:
        names = {
            player: msgspec.json.decode(data, type=Person).name
            for player, data in read_rows(rows, schema.people)
        }
        streams = [name for name, *_ in read_rows(rows, schema.streams)]
    players = [name.partition("/")[2] for name in streams if name.startswith("cage/")]
    _print_lines(
        [
            f"threedice users add NAME --role player --id {player}"
            + (f"   # {names[player]}" if player in names else "")
            for player in sorted({*players, *names})
        ]
    )


def _print_lines(lines: list[str]) -> None:
    for line in lines[:MAX_LISTED]:
        print_line(f"  {line}")
    if len(lines) > MAX_LISTED:
        print_line(f"  and {len(lines) - MAX_LISTED} more")
