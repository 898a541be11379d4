"""`threedice serve` in a child process: start, stop, TLS, and arguments that are refused."""

from __future__ import annotations

import resource
import signal
import socket
import ssl
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import httpx
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect

from tests.api.serve_process import HOUSE, start_server
from threedice.api.listener import ListenAddress, allowed_origins, bind_socket
from threedice.cli.house import run_server
from threedice.errors import InvalidInput, OperatingFailure, RulebookError
from threedice.identity import open_identity

if TYPE_CHECKING:
    from pathlib import Path

    from tests.api.serve_process import ServeProcess


@pytest.fixture
def house(tmp_path: Path) -> Path:
    file = tmp_path / "house.toml"
    file.write_text(HOUSE, encoding="utf-8")
    return file


@pytest.fixture
def arguments(tmp_path: Path, house: Path) -> list[str]:
    return ["--database", f"sqlite:///{tmp_path}/h.sqlite", "--house", str(house), "--port", "0"]


def password_in(process: ServeProcess) -> str:
    (at,) = (number for number, line in enumerate(process.output) if "sign in as" in line)
    return process.output[at + 1].strip()


def test_responses_without_free_descriptors_have_the_security_headers(
    tmp_path: Path, arguments: list[str]
) -> None:
    with start_server(tmp_path, *arguments) as process:
        url = f"http://127.0.0.1:{process.wait_until_listening()}"
        headers = {"Authorization": f"Bearer {create_auditor_token(tmp_path)}"}
        with httpx.Client(base_url=url, headers=headers) as client:
            client.get("/health")  # opens the connection that all requests use
            process.limit_descriptors(0)
            replies = [
                client.get(path, headers={"Accept-Language": language})
                for language in ("zh-Hant", "zh-Hans", "en")
                for path in ("/api/nothing", "/api/openapi.json", "/api/rulebooks", "/")
            ]
        process.limit_descriptors(resource.getrlimit(resource.RLIMIT_NOFILE)[0])
        process.send_signal(signal.SIGTERM)
        assert process.wait() == 0
    assert {reply.headers.get("x-frame-options") for reply in replies} == {"DENY"}
    assert [reply.status_code for reply in replies] == [404, 200, 200, 200] * 3
    assert "defect" not in process.errors


def test_house_is_created_on_first_start_and_served_again_after_a_stop(
    tmp_path: Path, arguments: list[str]
) -> None:
    with start_server(tmp_path, *arguments) as first:
        port = first.wait_until_listening()
        health = httpx.get(f"http://127.0.0.1:{port}/health")
        assert health.json()["status"] == "well"
        assert "server" not in health.headers
        password = password_in(first)
        token = create_auditor_token(tmp_path)
        url = f"ws://127.0.0.1:{port}/api/tables/pit-1/live"
        with connect(url, additional_headers={"Authorization": f"Bearer {token}"}) as live:
            assert '"type":"hello"' in str(live.recv())
            refused = start_server(tmp_path, *arguments)
            with refused as second:
                assert second.wait() == 2
            assert f"{tmp_path}/h.sqlite is served by process" in second.errors
            assert second.errors.count("\n") == 1
            first.send_signal(signal.SIGTERM)
            with pytest.raises(ConnectionClosed) as closed:
                live.recv()
            assert closed.value.rcvd is not None
            assert closed.value.rcvd.code == 1001
        assert first.wait() == 0
    assert password not in first.errors
    with start_server(tmp_path, *arguments) as again:
        port = again.wait_until_listening()
        assert not [line for line in again.output if "sign in as" in line]
        signed_in = httpx.post(
            f"http://127.0.0.1:{port}/api/session",
            json={"name": "administrator", "password": password},
            headers={"Origin": f"http://127.0.0.1:{port}"},
        )
        assert signed_in.status_code < 300, signed_in.text
        again.send_signal(signal.SIGINT)
        assert again.wait() == 0
    assert (tmp_path / "h.sqlite.state/house.toml").read_text() == HOUSE  # for backups


def create_auditor_token(folder: Path) -> str:
    """Create an API token of an auditor, who may read tables."""
    people = open_identity(f"sqlite:///{folder}/h.sqlite", state=folder / "h.sqlite.state")
    account = people.accounts.add("watcher", ["auditor"], password="a long pass phrase").account
    token = people.tokens.create(account.id, "watcher", ["read"]).token
    people.close()
    return token


def test_tls_server_is_reached_under_the_names_of_its_certificate(
    tmp_path: Path, arguments: list[str]
) -> None:
    certificate, key = create_certificate(tmp_path, "house.example")
    tls = ["--tls-cert", str(certificate), "--tls-key", str(key)]
    with start_server(tmp_path, *arguments, *tls, "--host", "0.0.0.0") as process:
        port = process.wait_until_listening()
        assert f"browsers reach it at https://house.example:{port}" in process.output
        context = ssl.create_default_context(cafile=str(certificate))
        with httpx.Client(verify=context) as client:
            answer = client.get(
                f"https://127.0.0.1:{port}/api/house",
                headers={"Host": f"house.example:{port}"},
                extensions={"sni_hostname": "house.example"},
            )
        assert answer.status_code == 200
        assert "strict-transport-security" in answer.headers


def create_certificate(folder: Path, name: str) -> tuple[Path, Path]:
    """Create a self-signed certificate; return its file and the file of its key."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, name)])
    now = datetime.now(UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(name)]), critical=False)
        .sign(key, hashes.SHA256())
    )
    files = folder / "cert.pem", folder / "key.pem"
    files[0].write_bytes(certificate.public_bytes(Encoding.PEM))
    files[1].write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    return files


# --- arguments that are refused before the database is opened -----------------------------------


def test_public_address_requires_tls_or_a_proxy(house: Path) -> None:
    for host in ("0.0.0.0", "::", "192.0.2.1", "house.example"):
        with pytest.raises(InvalidInput, match="--tls-cert"):
            run_server("memory:", house, ListenAddress(host))
        ListenAddress(host, behind_proxy=True).check()
    for host in ("127.0.0.1", "::1", "localhost", "127.8.8.8"):
        ListenAddress(host).check()


def test_demo_listens_on_loopback_only(house: Path) -> None:
    for address in (ListenAddress("0.0.0.0"), ListenAddress(behind_proxy=True)):
        with pytest.raises(InvalidInput, match="this machine only"):
            run_server("memory:", house, address, demo=True)


def test_invalid_certificate_files_are_refused(tmp_path: Path, house: Path) -> None:
    certificate, key = create_certificate(tmp_path, "house.example")
    (tmp_path / "other").mkdir()
    _, other = create_certificate(tmp_path / "other", "other.example")
    for wrong in (
        ListenAddress(certificate=certificate),
        ListenAddress(certificate=tmp_path / "missing.pem", key=key),
        ListenAddress(certificate=house, key=key),
        ListenAddress(certificate=certificate, key=other),
    ):
        with pytest.raises(InvalidInput, match=r"tls-cert|missing\.pem|not a certificate"):
            run_server("memory:", house, wrong)


def test_occupied_port_is_reported(house: Path) -> None:
    with bind_socket(ListenAddress(port=0)) as taken:
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(OperatingFailure, match=f"port {port}.*--port"):
            run_server("memory:", house, ListenAddress(port=port))
    with pytest.raises(InvalidInput, match="cannot listen at"):
        bind_socket(ListenAddress("no such host.invalid"))


def test_missing_house_file_error_names_the_expected_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    with pytest.raises(InvalidInput, match=r"house\.toml as docs/how-to/house-file\.md"):
        run_server("memory:", None, ListenAddress())
    usual = tmp_path / "threedice" / "house.toml"
    usual.parent.mkdir()
    usual.write_text(HOUSE.replace("chips = [5", "chips = [7"), encoding="utf-8")
    with pytest.raises(RulebookError, match=r"house\.toml, line 12: tables\.pit-1"):
        run_server("memory:", None, ListenAddress())


# --- origins ------------------------------------------------------------------------------------


def test_allowed_origins_are_the_names_of_the_house(tmp_path: Path) -> None:
    certificate, key = create_certificate(tmp_path, "house.example")
    here = ("http://127.0.0.1:8000", "http://localhost:8000", "http://[::1]:8000")
    assert allowed_origins(ListenAddress(), 8000) == here
    named = ListenAddress("0.0.0.0", 443, certificate, key)
    assert allowed_origins(named, 443)[0] == "https://house.example"
    proxied = ListenAddress("10.0.0.1", behind_proxy=True)
    assert allowed_origins(proxied, 8000, ["https://Pit.Example/"]) == ("https://pit.example",)
    for wrong in ("pit.example", "ftp://pit.example", "https://pit.example/path", "*"):
        with pytest.raises(InvalidInput, match="is not an origin"):
            allowed_origins(proxied, 8000, [wrong])


def test_server_can_listen_on_ipv6() -> None:
    with bind_socket(ListenAddress("::1", 0)) as taken:
        assert taken.family == socket.AF_INET6
