"""The signing key: creation, file permissions, rotation, endorsement and export."""

from __future__ import annotations

import os
import subprocess
import sys
from stat import S_IMODE
from typing import TYPE_CHECKING

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
    load_pem_public_key,
)

from threedice.errors import InvalidInput, StoreUnusable
from threedice.log.proof.keys import (
    PublicKey,
    export_pem,
    export_public_keys,
    import_public_keys,
    is_valid_signature,
    open_keys,
    read_keys,
    rotate_signing_key,
    trusted_keys,
)

if TYPE_CHECKING:
    from pathlib import Path


def test_signing_key_is_created_once_and_reused(tmp_path: Path) -> None:
    made = open_keys(tmp_path / "state")
    again = open_keys(tmp_path / "state")

    assert again.key_id == made.key_id
    assert is_valid_signature(again.public[made.key_id], b"signed text", made.sign(b"signed text"))
    assert not is_valid_signature(
        again.public[made.key_id], b"other text", made.sign(b"signed text")
    )


def test_key_folder_and_file_are_readable_by_their_owner_only(tmp_path: Path) -> None:
    open_keys(tmp_path / "state")

    assert S_IMODE((tmp_path / "state").stat().st_mode) == 0o700
    assert S_IMODE((tmp_path / "state/keys").stat().st_mode) == 0o700
    assert S_IMODE((tmp_path / "state/keys/signing.pem").stat().st_mode) == 0o600


def test_mode_of_the_key_file_does_not_depend_on_the_umask(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        open_keys(tmp_path)
    finally:
        os.umask(before)

    assert S_IMODE((tmp_path / "keys/signing.pem").stat().st_mode) == 0o600


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o660, 0o666])
def test_key_file_readable_by_others_is_refused(tmp_path: Path, mode: int) -> None:
    open_keys(tmp_path)
    (tmp_path / "keys/signing.pem").chmod(mode)

    with pytest.raises(StoreUnusable, match="chmod 0600"):
        open_keys(tmp_path)


def test_key_folder_readable_by_others_is_refused(tmp_path: Path) -> None:
    open_keys(tmp_path)
    (tmp_path / "keys").chmod(0o755)

    with pytest.raises(StoreUnusable, match="chmod 0700"):
        open_keys(tmp_path)


def test_key_of_another_user_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    open_keys(tmp_path)
    other_user = os.geteuid() + 1
    monkeypatch.setattr(os, "geteuid", lambda: other_user)

    with pytest.raises(StoreUnusable, match="another user"):
        open_keys(tmp_path)


def test_key_file_that_is_a_symlink_is_refused(tmp_path: Path) -> None:
    open_keys(tmp_path)
    file = tmp_path / "keys/signing.pem"
    file.rename(tmp_path / "elsewhere.pem")
    file.symlink_to(tmp_path / "elsewhere.pem")

    with pytest.raises(StoreUnusable, match="plain file"):
        open_keys(tmp_path)


def test_damaged_key_is_refused(tmp_path: Path) -> None:
    open_keys(tmp_path)
    (tmp_path / "keys/signing.pem").write_bytes(b"-----BEGIN nothing")

    with pytest.raises(StoreUnusable, match=r"signing\.pem is damaged"):
        open_keys(tmp_path)


def test_key_of_another_kind_is_refused(tmp_path: Path) -> None:
    open_keys(tmp_path)
    other = X25519PrivateKey.generate()
    pem = other.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    (tmp_path / "keys/signing.pem").write_bytes(pem)

    with pytest.raises(StoreUnusable, match=r"signing\.pem is damaged"):
        open_keys(tmp_path)


@pytest.mark.parametrize("text", [b"{", b"\xff", b'{"key_id": "x", "public": "zz"}'])
def test_damaged_public_key_record_is_refused(tmp_path: Path, text: bytes) -> None:
    keys = open_keys(tmp_path)
    (tmp_path / f"keys/{keys.key_id}.json").write_bytes(text)

    with pytest.raises(StoreUnusable, match=rf"{keys.key_id}\.json is damaged"):
        open_keys(tmp_path)


def test_public_key_record_under_another_key_id_is_refused(tmp_path: Path) -> None:
    keys = open_keys(tmp_path)
    record = tmp_path / f"keys/{keys.key_id}.json"
    (tmp_path / "keys/0123456789abcdef.json").write_bytes(record.read_bytes())

    with pytest.raises(StoreUnusable, match="damaged"):
        open_keys(tmp_path)


def test_missing_private_key_is_refused_and_not_replaced(tmp_path: Path) -> None:
    open_keys(tmp_path)
    (tmp_path / "keys/signing.pem").unlink()

    with pytest.raises(StoreUnusable, match="missing"):
        open_keys(tmp_path)


@pytest.mark.parametrize("lost", ["first", "current"])
def test_missing_record_of_a_rotated_key_is_named_and_not_made_up(
    tmp_path: Path, lost: str
) -> None:
    key_ids = {"first": open_keys(tmp_path).key_id, "current": rotate_signing_key(tmp_path).key_id}
    file = tmp_path / "keys" / f"{key_ids[lost]}.json"
    exported = export_public_keys(open_keys(tmp_path).public.values())
    private = (tmp_path / "keys" / "signing.pem").read_bytes()
    file.unlink()

    for use in (open_keys, read_keys, rotate_signing_key):
        with pytest.raises(StoreUnusable, match=file.name):
            use(tmp_path)

    assert not file.exists()
    assert (tmp_path / "keys" / "signing.pem").read_bytes() == private
    (tmp_path / "known-keys.json").write_bytes(exported)
    assert export_public_keys(open_keys(tmp_path).public.values()) == exported
    assert export_public_keys(read_keys(tmp_path).public.values()) == exported


def test_interrupted_creation_of_the_key_is_completed(tmp_path: Path) -> None:
    keys = open_keys(tmp_path)
    (tmp_path / f"keys/{keys.key_id}.json").unlink()

    assert open_keys(tmp_path).public == keys.public


def test_concurrent_servers_create_one_key(tmp_path: Path) -> None:
    code = (
        "import sys; from pathlib import Path; from threedice.log.proof.keys import open_keys;"
        "sys.stdin.read(); print(open_keys(Path(sys.argv[1])).key_id)"
    )
    command = [sys.executable, "-c", code, str(tmp_path)]
    servers = [
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        for _ in range(4)
    ]
    for server in servers:
        assert server.stdin
        server.stdin.close()
        server.stdin = None
    used = {server.communicate()[0] for server in servers}

    assert used == {open_keys(tmp_path).key_id + "\n"}
    assert [file.name for file in (tmp_path / "keys").glob("*.pem")] == ["signing.pem"]


def test_rotated_keys_are_trusted_through_endorsement(tmp_path: Path) -> None:
    first = open_keys(tmp_path)
    second = rotate_signing_key(tmp_path)
    third = rotate_signing_key(tmp_path)

    assert len({first.key_id, second.key_id, third.key_id}) == 3
    assert open_keys(tmp_path).key_id == third.key_id
    assert third.public.keys() == {first.key_id, second.key_id, third.key_id}
    assert trusted_keys(first.public, third.public) == third.public


def test_rotation_destroys_the_old_private_key(tmp_path: Path) -> None:
    open_keys(tmp_path)
    old = (tmp_path / "keys/signing.pem").read_bytes()
    (tmp_path / "keys/new-left-by-a-crash.pem").write_bytes(old)
    rotate_signing_key(tmp_path)

    assert [file.name for file in (tmp_path / "keys").glob("*.pem")] == ["signing.pem"]
    assert (tmp_path / "keys/signing.pem").read_bytes() != old


def test_key_without_endorsement_is_not_trusted(tmp_path: Path) -> None:
    house, foreign = open_keys(tmp_path / "house"), open_keys(tmp_path / "foreign")

    assert trusted_keys(house.public, foreign.public) == house.public


def test_forged_endorsement_is_not_trusted(tmp_path: Path) -> None:
    house, foreign = open_keys(tmp_path / "house"), open_keys(tmp_path / "foreign")
    own = foreign.public[foreign.key_id]
    forged = PublicKey(own.key_id, own.public, house.key_id, foreign.sign(b"anything").hex())

    assert trusted_keys(house.public, {own.key_id: forged}) == house.public


def test_checkpoint_signature_is_not_an_endorsement(tmp_path: Path) -> None:
    house, foreign = open_keys(tmp_path / "house"), open_keys(tmp_path / "foreign")
    own = foreign.public[foreign.key_id]
    signature = house.sign(bytes.fromhex(own.public))
    forged = PublicKey(own.key_id, own.public, house.key_id, signature.hex())

    assert trusted_keys(house.public, {own.key_id: forged}) == house.public


def test_public_keys_can_be_exported_and_imported(tmp_path: Path) -> None:
    open_keys(tmp_path)
    keys = rotate_signing_key(tmp_path)

    assert import_public_keys(export_public_keys(keys.public.values())) == keys.public
    pem = load_pem_public_key(export_pem(keys.public[keys.key_id]))
    assert isinstance(pem, Ed25519PublicKey)
    raw = pem.public_bytes(Encoding.Raw, PublicFormat.Raw)
    assert raw.hex() == keys.public[keys.key_id].public


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"{}",
        b'[{"key_id": "1", "public": "zz"}]',
        b'[{"key_id": "0000000000000000", "public": "00"}]',
    ],
)
def test_malformed_public_key_export_is_refused(text: bytes) -> None:
    with pytest.raises(InvalidInput, match="public key"):
        import_public_keys(text)


def test_malformed_signature_or_key_is_invalid(tmp_path: Path) -> None:
    keys = open_keys(tmp_path)

    assert not is_valid_signature(keys.public[keys.key_id], b"body", b"short")
    assert not is_valid_signature(PublicKey("0" * 16, "00"), b"body", bytes(64))
