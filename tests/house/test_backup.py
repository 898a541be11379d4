"""Backups of whole houses: their content, their protection, and restoring them."""

from __future__ import annotations

import io
import random
import re
import resource
import shutil
import sqlite3
import tempfile
from contextlib import closing, contextmanager
from functools import partial
from stat import S_IMODE
from typing import TYPE_CHECKING

import msgspec
import pyotp
import pytest

from tests.house.sample_backup import (
    IDENTITY,
    MINUTE,
    NOON,
    PASSWORD,
    TO_RECIPIENT,
    WITH_IDENTITY,
    SampleHouse,
    without_restore,
)
from tests.log.inspection import tampering
from tests.log.proposals import background_writes, bet
from threedice.cli.backup import describe_weak_seal
from threedice.errors import InvalidInput, StoreFailed, StoreUnusable, TamperedData
from threedice.house.backup import container, create, restore
from threedice.house.backup.contents import append_manifest, split_manifest
from threedice.house.backup.create import BackupSummary
from threedice.house.house import House
from threedice.log.proof.checkpoint_files import CHECKPOINTS_FILE, read_checkpoints
from threedice.log.proof.checkpoints import CheckpointSigner
from threedice.log.proof.keys import (
    open_keys,
    read_public_keys,
    rotate_signing_key,
    save_known_keys,
)
from threedice.log.proof.verification import verify_log
from threedice.log.stores.new_files import temporary_folder
from threedice.log.stores.rows import open_rows
from threedice.log.stores.table_copies import DERIVED_TABLES
from threedice.log.stores.urls import RESTORE_MARK, open_store, refuse_lost_database

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from tests.log.postgres_server import PostgresServer
    from threedice.log.stores.rows import LogRows


@pytest.fixture
def new_house(tmp_path: Path, request: pytest.FixtureRequest) -> Callable[[str, str], SampleHouse]:
    """Return a function that makes an empty house on a machine of its own."""

    def make(machine: str, kind: str = "sqlite") -> SampleHouse:
        folder = tmp_path / machine
        folder.mkdir()
        if kind == "postgres":
            server: PostgresServer = request.getfixturevalue("postgres")
            return SampleHouse(server.fresh(), folder / "state")
        return SampleHouse(f"sqlite:///{folder}/house.sqlite", folder / "state")

    return make


@pytest.fixture
def house(new_house: Callable[[str], SampleHouse]) -> SampleHouse:
    made = new_house("a")
    made.fill()
    made.sign()
    return made


@pytest.fixture
def other(new_house: Callable[[str], SampleHouse]) -> SampleHouse:
    """Return an empty machine."""
    return new_house("b")


@pytest.fixture
def saved(house: SampleHouse, tmp_path: Path) -> Path:
    house.back_up(tmp_path / "saved")
    return tmp_path / "saved"


def is_untouched(house: SampleHouse) -> bool:
    """Return whether nothing was restored on a machine, not even in part."""
    return not list(house.state.parent.rglob("*"))


# --- contents -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("source", "target"), [("sqlite", "sqlite"), ("sqlite", "postgres"), ("postgres", "sqlite")]
)
def test_restored_house_has_all_rows_and_its_people_sign_in(
    source: str, target: str, new_house: Callable[[str, str], SampleHouse], tmp_path: Path
) -> None:
    house, other = new_house("a", source), new_house("b", target)
    house.fill()
    house.sign()
    with house.store() as store:
        bet(store, "table/1", "cage/ann")  # after the last checkpoint
    before = house.rows()
    house.back_up(tmp_path / "saved")

    other.restore(tmp_path / "saved")

    assert without_restore(other.rows()) == before
    with other.store() as store:
        assert verify_log(store, public_keys=read_public_keys(other.state)).is_sound
    other.now = NOON + MINUTE
    with other.identity() as identity:
        code = pyotp.TOTP(house.secrets["code"]).at(other.now // 1_000_000)
        assert identity.authentication.sign_in("sam", PASSWORD, code=code, address="::1")
        assert identity.authentication.sign_in("ann", PASSWORD, address="::1")
        assert identity.sessions.resolve(house.secrets["session"]) is not None
        assert [each.table for each in identity.assignments.current()] == ["1"]


def test_backup_leaves_out_checkpoints_that_are_rolled_up(
    house: SampleHouse, other: SampleHouse, tmp_path: Path
) -> None:
    keys = open_keys(house.state)
    with house.store() as store:
        before = CheckpointSigner(store, keys, house.state)  # keeps more of them
        for _ in range(30):
            before.create_checkpoint(at=house.now)
        CheckpointSigner(store, keys, house.state, kept=5).create_checkpoint(at=house.now)
        assert len(store.checkpoints()) == 22
    summary = house.back_up(tmp_path / "saved")

    other.restore(tmp_path / "saved")

    assert summary.rows["checkpoints"] == 6
    with other.store() as store:
        assert [each.number for each in store.checkpoints()] == [*range(27, 33), 33]
        kept_outside = read_checkpoints(house.state / CHECKPOINTS_FILE)
        assert verify_log(store, public_keys=keys.public, against=kept_outside).is_sound


def test_derived_data_and_leases_are_neither_backed_up_nor_restored(
    other: SampleHouse, saved: Path
) -> None:
    other.restore(saved)
    with other.store() as store:
        assert store.acquire_lease("driver of table/1", "server 2", 60)
        with open_rows(store) as rows:
            assert not [chunk for table in DERIVED_TABLES for chunk in rows.chunks(table)]


def test_restore_brings_back_the_keys_and_ends_a_halt(
    house: SampleHouse, other: SampleHouse, saved: Path
) -> None:
    with house.store() as store:
        store.suspend("the disk is full")
    other.restore(saved)
    for name in ("people.key", "keys/signing.pem", "keys/log.key"):
        assert (other.state / name).read_bytes() == (house.state / name).read_bytes()
        assert S_IMODE((other.state / name).stat().st_mode) == 0o600
    with other.store() as store:
        assert store.suspension_reason() == ""
        store.suspend("")


def test_backup_reveals_nothing_and_leaves_no_other_file(
    house: SampleHouse, saved: Path, tmp_path: Path
) -> None:
    data = saved.read_bytes()
    for secret in (b"1990-01-31", b"$argon2id", b"PRIVATE KEY", b"The house", b"table/1"):
        assert secret not in data
    assert S_IMODE(saved.stat().st_mode) == 0o600
    assert sorted(each.name for each in tmp_path.iterdir()) == ["a", "saved"]
    assert not list(house.state.glob("threedice-temporary-*"))


def test_backup_writes_nothing_to_the_database(house: SampleHouse, tmp_path: Path) -> None:
    with house.store() as store:
        bet(store, "table/9")
    before = house.rows()
    house.back_up(tmp_path / "saved")
    assert house.rows() == before


def test_backup_taken_during_writes_is_consistent(
    house: SampleHouse, new_house: Callable[[str], SampleHouse], tmp_path: Path
) -> None:
    with (
        house.store() as store,
        house.identity() as identity,
        background_writes(store, "table/1", "cage/ann"),
    ):
        for number in range(3):
            identity.accounts.add(f"player{number}", ["player"], password=PASSWORD)
            house.back_up(tmp_path / f"saved-{number}")
    for number in range(3):
        restored = new_house(f"restored-{number}")
        restored.restore(tmp_path / f"saved-{number}")
        with restored.identity() as identity:
            assert len(identity.accounts.all()) == 4 + number


# --- files --------------------------------------------------------------------------------------


def test_backup_does_not_overwrite_a_file(house: SampleHouse, tmp_path: Path) -> None:
    (tmp_path / "saved").write_bytes(b"the one before")
    with pytest.raises(InvalidInput, match="already exists"):
        house.back_up(tmp_path / "saved")
    assert (tmp_path / "saved").read_bytes() == b"the one before"


DEAD_FOLDER = "threedice-temporary-0123456789abcdef"


def test_remains_of_a_killed_backup_neither_block_the_next_nor_stay(
    house: SampleHouse, tmp_path: Path
) -> None:
    (tmp_path / "saved.part").write_bytes(b"of another program")
    (tmp_path / "monday.0123abcd.part").write_bytes(container.MAGIC + b"cut off")
    for place in (house.state, tmp_path):
        (place / DEAD_FOLDER).mkdir()
        (place / DEAD_FOLDER / "house.sqlite").write_bytes(b"plain")
    with temporary_folder(house.state) as running:
        house.back_up(tmp_path / "saved")
        assert running.exists()
    assert not list(house.state.glob("threedice-temporary-*"))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a", "saved", "saved.part"]


@contextmanager
def limited_file_size(limit: int) -> Iterator[None]:
    """Let files grow up to a limit only, as on a disk that is full."""
    former = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, former[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, former)


def test_backup_on_a_full_disk_leaves_no_file(house: SampleHouse, tmp_path: Path) -> None:
    with limited_file_size(200_000), pytest.raises(StoreFailed, match="free disk space"):
        house.back_up(tmp_path / "saved")
    assert not list(tmp_path.glob("saved*"))
    assert not list(house.state.glob("threedice-temporary-*"))


@pytest.mark.parametrize("full", [1, 2])
def test_backup_of_a_house_on_a_full_disk_is_made_elsewhere(
    full: int,
    house: SampleHouse,
    other: SampleHouse,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    (tmp_path / "target").mkdir()
    (tmp_path / "system").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "system"))
    full_places = [house.state, tmp_path / "target"][:full]
    used = []
    copy = create._copy_database

    def copy_unless_full(rows: LogRows, database: Path) -> dict[str, int]:
        place = database.parent.parent
        used.append(place)
        assert S_IMODE(database.parent.stat().st_mode) == 0o700
        database.write_bytes(b"")
        if place in full_places:
            raise sqlite3.OperationalError("database or disk is full")
        return copy(rows, database)

    monkeypatch.setattr(create, "_copy_database", copy_unless_full)
    house.back_up(tmp_path / "target/saved")
    assert used == [house.state, tmp_path / "target", tmp_path / "system"][: full + 1]
    assert not list(tmp_path.rglob("threedice-temporary-*"))
    other.restore(tmp_path / "target/saved")


def test_backup_into_a_missing_folder_is_refused(house: SampleHouse, tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="cannot be created"):
        house.back_up(tmp_path / "none" / "saved")


@pytest.mark.parametrize("name", ["people.key", "keys/signing.pem", "keys/log.key"])
def test_backup_without_a_key_that_it_needs_is_refused(
    name: str, house: SampleHouse, tmp_path: Path
) -> None:
    (house.state / name).unlink()
    with pytest.raises((InvalidInput, StoreUnusable), match="key"):
        house.back_up(tmp_path / "saved")
    assert not list(tmp_path.glob("saved*"))


def test_backup_of_a_house_with_a_changed_stream_names_it(
    house: SampleHouse, tmp_path: Path
) -> None:
    with tampering(tmp_path / "a/house.sqlite") as run:
        run("UPDATE entries SET data = x'00' WHERE stream = 'table/2'")
    with pytest.raises(TamperedData, match=r"table/2 version 1: .*log verify"):
        house.back_up(tmp_path / "saved")
    assert not list(tmp_path.glob("saved*"))


def test_backup_of_a_house_with_a_changed_role_names_the_row(
    house: SampleHouse, tmp_path: Path
) -> None:
    with tampering(tmp_path / "a/house.sqlite") as run:
        run("UPDATE people_accounts SET roles = 'administrator' WHERE name = 'ann'")
    with pytest.raises(TamperedData, match=r"people_accounts .*log verify"):
        house.back_up(tmp_path / "saved")


def test_backup_of_a_house_with_a_foreign_entry_names_its_stream(
    house: SampleHouse, tmp_path: Path
) -> None:
    with closing(open_store(house.url)) as store:  # without the key for MACs
        bet(store, "cage/ann")
    with pytest.raises(TamperedData, match="head of cage/ann: was not written by the house"):
        house.back_up(tmp_path / "saved")
    assert not list(tmp_path.glob("saved*"))


def test_backup_of_a_database_that_was_made_to_forget_the_key_of_its_log_is_refused(
    house: SampleHouse, tmp_path: Path
) -> None:
    with closing(open_store(house.url)) as store:
        bet(store, "cage/ann")
    with tampering(tmp_path / "a/house.sqlite") as run:
        run("DELETE FROM meta WHERE name = 'mac-key'")
    with (
        closing(open_store(house.url)) as store,
        open_rows(store) as rows,
        pytest.raises(StoreUnusable, match=r"log\.key is missing or not the key"),
    ):
        house.write_backup(rows, tmp_path / "saved")


# --- changes ------------------------------------------------------------------------------------


def test_no_changed_bit_of_a_backup_is_restored(saved: Path, other: SampleHouse) -> None:
    data, draw = saved.read_bytes(), random.Random(19)
    header = data.index(b"---") + 60  # of the file and of age
    places = [*range(0, header, 7), *(draw.randrange(header, len(data)) for _ in range(40))]
    for place in (*places, header, len(data) // 2, len(data) - 1):
        changed = bytearray(data)
        changed[place] ^= 1 << draw.randrange(8)
        saved.write_bytes(changed)
        with pytest.raises((TamperedData, InvalidInput)):
            other.restore(saved)
        assert is_untouched(other), place


@pytest.mark.parametrize("cut", [0, 10, 19, 23, 100, 300, 70_000, -16, -1])
def test_truncated_backup_is_not_restored(cut: int, saved: Path, other: SampleHouse) -> None:
    saved.write_bytes(saved.read_bytes()[:cut])
    with pytest.raises((TamperedData, InvalidInput)):
        other.restore(saved)
    assert is_untouched(other)


@pytest.mark.parametrize("more", [b"\0", b"x" * 16, b"x" * 70_000])
def test_backup_with_bytes_appended_is_not_restored(
    more: bytes, saved: Path, other: SampleHouse
) -> None:
    saved.write_bytes(saved.read_bytes() + more)
    with pytest.raises(TamperedData):
        other.restore(saved)
    assert is_untouched(other)


def rewrite(
    saved: Path,
    folder: Path,
    change: Callable[[Path], None] = lambda _: None,
    *,
    keys_of: Path,
    **changes: object,
) -> None:
    """Decrypt a backup, change its database and its manifest, sign and encrypt it again."""
    plain = folder / "plain"
    with plain.open("wb") as target:
        container.decrypt(saved, target, WITH_IDENTITY)
    manifest, _, _ = split_manifest(plain)
    change(plain)
    keys = open_keys(keys_of)
    append_manifest(plain, msgspec.structs.replace(manifest, **changes), keys)
    with plain.open("rb") as source, saved.open("wb") as target:
        container.encrypt(source, target, TO_RECIPIENT)


def test_backup_rewritten_by_somebody_without_the_signing_key_is_not_restored(
    saved: Path, other: SampleHouse, tmp_path: Path
) -> None:
    rewrite(saved, tmp_path, keys_of=tmp_path / "foreign")
    with pytest.raises(TamperedData, match="its signature is not that of the key"):
        other.restore(saved)
    assert is_untouched(other)


def test_birth_date_changed_in_a_decrypted_backup_is_found(
    saved: Path, house: SampleHouse, other: SampleHouse, tmp_path: Path
) -> None:
    def change(plain: Path) -> None:
        with closing(sqlite3.connect(plain)) as connection, connection:
            connection.execute(
                "UPDATE people SET data = CAST(replace(data, '1990', '1980') AS BLOB)"
            )

    rewrite(saved, tmp_path, change, keys_of=house.state)
    with pytest.raises(TamperedData, match="is not the one that was signed"):
        other.restore(saved)
    assert is_untouched(other)


@pytest.mark.parametrize("path", ["../people.key", "/tmp/keys/x", "keys/../../x", "house.toml"])
def test_backup_writes_no_file_outside_its_place(
    path: str, saved: Path, house: SampleHouse, other: SampleHouse, tmp_path: Path
) -> None:
    rewrite(saved, tmp_path, keys_of=house.state, files={path: b"harm"})
    with pytest.raises(TamperedData, match="names the unknown file"):
        other.restore(saved)
    assert is_untouched(other)


def test_backup_for_another_recipient_is_not_opened(
    house: SampleHouse, other: SampleHouse, tmp_path: Path
) -> None:
    stranger = type(IDENTITY).generate()
    house.back_up(tmp_path / "saved", container.Encryption([stranger.to_public()]))
    with pytest.raises(TamperedData, match="not encrypted to this identity"):
        other.restore(tmp_path / "saved")


# --- restoring ----------------------------------------------------------------------------------


def test_restore_is_an_event_signed_at_once(other: SampleHouse, saved: Path) -> None:
    event = other.restore(saved)
    assert (event.by, event.backup_at, event.checkpoint) == ("olga", NOON, 1)
    assert (event.given_up_checkpoints, event.given_up) == (None, {})
    with other.store() as store:
        (entry,) = store.read("house")
        assert (entry.kind, entry.at) == ("HouseRestored", NOON + MINUTE)
        assert [each.number for each in store.checkpoints()] == [1, 2]


@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
def test_restore_into_a_database_that_is_not_empty_is_refused(
    kind: str, saved: Path, new_house: Callable[[str, str], SampleHouse]
) -> None:
    other = new_house("b", kind)
    with closing(open_store(other.url)) as store:
        store.set_person("eve", b"{}")
    with pytest.raises(StoreUnusable, match="not empty: it has"):
        other.restore(saved)
    assert not (other.state / "keys").exists()
    assert [player for player, _ in other.rows()["people"]] == ["eve"]


def test_restore_beside_the_keys_of_another_house_is_refused(
    saved: Path, other: SampleHouse
) -> None:
    open_keys(other.state)
    with pytest.raises(StoreUnusable, match="not one of this house's"):
        other.restore(saved)


def test_restore_beside_another_encryption_key_names_the_file(
    saved: Path, house: SampleHouse
) -> None:
    house.lose_database()
    (house.state / "people.key").write_bytes(b"k" * 32)
    with pytest.raises(StoreUnusable, match=r"people\.key differs .*move"):
        house.restore(saved)


def test_restore_keeps_a_signing_key_that_was_rotated_since(
    saved: Path, house: SampleHouse
) -> None:
    rotated = rotate_signing_key(house.state)
    house.lose_database()
    house.restore(saved)
    assert open_keys(house.state).key_id == rotated.key_id
    with house.store() as store:
        assert store.checkpoints()[-1].key_id == rotated.key_id
        assert verify_log(store, public_keys=read_public_keys(house.state)).is_sound


def test_restore_keeps_a_signing_key_that_replaced_a_lost_one(
    saved: Path, house: SampleHouse
) -> None:
    known = read_public_keys(house.state)
    shutil.rmtree(house.state / "keys")
    replaced = open_keys(house.state)
    save_known_keys(house.state, known)
    house.lose_database()
    house.restore(saved)
    assert open_keys(house.state).key_id == replaced.key_id
    with house.store() as store:
        assert store.checkpoints()[-1].key_id == replaced.key_id
        assert verify_log(store, public_keys=read_public_keys(house.state)).is_sound


def test_restore_beside_the_write_ahead_log_of_a_lost_database_is_refused(
    saved: Path, other: SampleHouse
) -> None:
    (other.state.parent / "house.sqlite-wal").write_bytes(b"frames")
    with pytest.raises(StoreUnusable, match=r"house\.sqlite-wal belongs to a former database"):
        other.restore(saved)


class Crash(Exception):
    """The process died."""


def crash(*_: object, **__: object) -> None:
    raise Crash


@pytest.mark.parametrize("step", ["write_state_files", "_fill", "verify_log", "clear_halt"])
@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
def test_interrupted_restore_can_be_repeated(
    kind: str,
    step: str,
    saved: Path,
    house: SampleHouse,
    new_house: Callable[[str, str], SampleHouse],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    other = new_house("b", kind)
    with monkeypatch.context() as patched:
        patched.setattr(restore, step, partial(crash))
        with pytest.raises(Crash):
            other.restore(saved)
    other.restore(saved)
    assert without_restore(other.rows()) == house.rows()
    with other.store() as store:
        assert store.head("house").version == 1


@pytest.mark.anyio
@pytest.mark.parametrize("step", ["_trust", "write_state_files", "_fill", "clear_halt"])
@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
async def test_no_new_house_is_founded_where_a_restore_was_interrupted(
    kind: str,
    step: str,
    saved: Path,
    new_house: Callable[[str, str], SampleHouse],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    other = new_house("b", kind)
    with monkeypatch.context() as patched:
        patched.setattr(restore, step, partial(crash))
        with pytest.raises(Crash):
            other.restore(saved)
    with pytest.raises(StoreUnusable, match="run the same threedice restore command again"):
        async with House(other.url, state_dir=other.state):
            pass
    other.restore(saved)
    async with House(other.url, state_dir=other.state):
        assert not (other.state / RESTORE_MARK).exists()


@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
def test_backup_of_another_house_is_restored_after_an_interruption_before_the_commit(
    kind: str,
    saved: Path,
    new_house: Callable[[str, str], SampleHouse],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    other, third = new_house("b", kind), new_house("c", "sqlite")
    third.fill()
    third.back_up(tmp_path / "third")
    with monkeypatch.context() as patched:
        patched.setattr(restore, "verify_log", partial(crash))
        with pytest.raises(Crash):
            other.restore(saved)
    other.restore(tmp_path / "third")
    assert read_public_keys(other.state) == read_public_keys(third.state)
    assert not (other.state / RESTORE_MARK).exists()


def test_refused_restore_leaves_no_mark_on_a_house(saved: Path, house: SampleHouse) -> None:
    with pytest.raises(StoreUnusable, match="not empty"):
        house.restore(saved)
    assert not (house.state / RESTORE_MARK).exists()


def test_restore_on_a_full_disk_says_to_repeat_it_and_marks_the_machine(
    saved: Path, other: SampleHouse
) -> None:
    with limited_file_size(200_000), pytest.raises(StoreFailed, match="run the same command again"):
        other.restore(saved)
    with pytest.raises(StoreUnusable, match="a restore was interrupted"):
        refuse_lost_database(other.url, other.state)
    other.restore(saved)


def test_repeating_a_restore_after_play_is_refused(saved: Path, other: SampleHouse) -> None:
    other.restore(saved)
    with other.store() as store:
        bet(store, "table/1")
    with pytest.raises(StoreUnusable, match="not empty"):
        other.restore(saved)


def test_house_restored_twice_has_two_events(
    house: SampleHouse, other: SampleHouse, saved: Path, tmp_path: Path
) -> None:
    other.restore(saved)
    other.back_up(tmp_path / "again")
    other.lose_everything()
    other.restore(tmp_path / "again")
    with other.store() as store:
        assert store.head("house").version == 2
        assert verify_log(store, public_keys=read_public_keys(house.state)).is_sound


class BusyMachine:
    """age on a machine that seems to have the given speeds, one after the other."""

    def __init__(self, *work_factors: int) -> None:
        self.left = list(work_factors)

    def encrypt(self, plain: bytes, _passphrase: str) -> bytes:
        return b"age-encryption.org/v1\n-> scrypt c2FsdA %d\n%b" % (self.left.pop(0), plain)


@pytest.mark.parametrize(
    ("work_factors", "sealed_with", "left"),
    [
        ([18, 20], 18, [20]),
        ([14, 17, 19, 20], 19, [20]),
        ([12, 17, 11, 16, 15, 20], 17, [20]),  # five times at most, and then the strongest
    ],
)
def test_passphrase_with_a_low_work_factor_is_used_again(
    work_factors: list[int], sealed_with: int, left: list[int]
) -> None:
    machine = BusyMachine(*work_factors)

    sealed = container.seal(b"identity", "four words are enough", machine.encrypt)

    assert container.read_work_factor(sealed) == sealed_with
    assert machine.left == left


def test_operator_is_informed_of_a_weakly_sealed_backup() -> None:
    assert BackupSummary({}, True, 17).is_weakly_sealed
    assert not BackupSummary({}, True, 18).is_weakly_sealed
    assert not BackupSummary({}, True).is_weakly_sealed
    assert "takes 2^17 steps instead of 2^18 or more" in describe_weak_seal(17)


def test_passphrase_that_takes_too_long_to_try_is_not_said_to_be_wrong(tmp_path: Path) -> None:
    file, passphrase = tmp_path / "saved", "four words are enough"
    with file.open("wb") as target:
        encryption = container.Encryption((), passphrase)
        work_factor = container.encrypt(io.BytesIO(b"a house"), target, encryption)
    written = rf"(?<=-> scrypt )(\S+) {work_factor}\n".encode()
    slow, count = re.subn(written, rb"\1 62\n", file.read_bytes())
    assert count == 1
    file.write_bytes(slow)

    with pytest.raises(InvalidInput, match="too slow or too busy"):
        container.decrypt(file, io.BytesIO(), container.Decryption((), lambda: passphrase))


@pytest.mark.long
def test_passphrase_opens_a_backup_and_another_one_does_not(
    house: SampleHouse, tmp_path: Path
) -> None:
    file, plain = tmp_path / "saved", tmp_path / "plain"
    house.back_up(file, container.Encryption(passphrase="four words are enough"))

    def opens(passphrase: str) -> bool:
        decryption = container.Decryption(ask_passphrase=lambda: passphrase)
        try:
            with plain.open("wb") as target:
                container.decrypt(file, target, decryption)
        except (InvalidInput, TamperedData):
            return False
        return True

    assert opens("four words are enough")
    assert not opens("four words are enouhg")
    data = file.read_bytes()
    for place in (19, 22, 23, 60, 150, 250, 300):
        changed = bytearray(data)
        changed[place] ^= 1
        file.write_bytes(changed)
        assert not opens("four words are enough"), place
