"""Second factors: enrolment, single use of codes, and loss of the device."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import parse_qs, unquote, urlsplit

import pyotp
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.identity.identity_cluster import PASSWORD, TotpDevice, add_account
from threedice.errors import TamperedData
from threedice.identity import IdentityPolicy, SessionRefused, SignInRefused
from threedice.identity.authentication.second_factors import matching_totp_step
from threedice.identity.roles import SECOND

if TYPE_CHECKING:
    from tests.identity.identity_cluster import IdentityCluster, SteppedClock
    from threedice.identity import IdentityService

# RFC 6238, appendix B, for SHA-1; the last six digits of its eight.
RFC_SECRET = "GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ"
RFC_CODES = {
    59: "287082",
    1111111109: "081804",
    1111111111: "050471",
    1234567890: "005924",
    2000000000: "279037",
}


@pytest.mark.parametrize(("seconds", "code"), RFC_CODES.items())
def test_totp_codes_match_rfc_6238(seconds: int, code: str) -> None:
    assert matching_totp_step(RFC_SECRET, code, seconds * SECOND, after=0) == seconds // 30


@given(st.integers(0, 4_000_000_000), st.integers(-100, 100), st.integers(-3, 3))
def test_totp_code_is_valid_for_its_step_and_the_adjacent_ones(
    seconds: int, late: int, used: int
) -> None:
    shown, now = (seconds + 1000) // 30, seconds + 1000 + late
    code = pyotp.TOTP(RFC_SECRET).generate_otp(shown)
    found = matching_totp_step(RFC_SECRET, code, now * SECOND, after=shown + used)

    fits = abs(now // 30 - shown) <= 1 and used < 0
    assert found == (shown if fits else None)


def refusal(identity: IdentityService, name: str, code: str) -> str:
    with pytest.raises(SignInRefused) as refused:
        identity.authentication.sign_in(name, PASSWORD, code=code)
    return refused.value.reason


def test_staff_session_stays_in_enrolment_until_a_second_factor_is_confirmed(
    strict_identity: IdentityService, cluster: IdentityCluster
) -> None:
    add_account(strict_identity, "dan", "dealer")
    first = strict_identity.authentication.sign_in("dan", PASSWORD)
    assert first.session.state == "enrolment"

    enrolment = strict_identity.second_factors.begin_enrolment(first.token)
    device = TotpDevice(enrolment.secret, cluster.clock)
    done = strict_identity.second_factors.confirm_enrolment(first.token, device.code())

    uri = urlsplit(enrolment.uri)
    assert (uri.scheme, uri.netloc, unquote(uri.path)) == ("otpauth", "totp", "/Threedice:dan")
    assert parse_qs(uri.query)["secret"] == [enrolment.secret]
    assert done.issued_session.session.state == "open"
    assert strict_identity.sessions.resolve(first.token) is None, "the session gets a new token"
    assert len(set(done.recovery_codes)) == 10


def test_player_signs_in_without_a_second_factor(strict_identity: IdentityService) -> None:
    add_account(strict_identity, "ann", "player")

    assert strict_identity.authentication.sign_in("ann", PASSWORD).session.state == "open"


def test_optional_second_factor_is_required_of_enrolled_accounts(
    strict_identity: IdentityService, cluster: IdentityCluster
) -> None:
    add_account(strict_identity, "dan", "dealer")
    demo = cluster.open(IdentityPolicy(second_factor=False))
    assert demo.authentication.sign_in("dan", PASSWORD).session.state == "open"

    device, _ = cluster.enrol(strict_identity, "dan")

    assert refusal(demo, "dan", "") == "code-needed"
    assert demo.authentication.sign_in("dan", PASSWORD, code=device.code())


def test_totp_code_is_required_and_accepted_once(
    strict_identity: IdentityService, cluster: IdentityCluster
) -> None:
    add_account(strict_identity, "dan", "dealer")
    device, _ = cluster.enrol(strict_identity, "dan")
    at_enrolment = device.shown()

    assert refusal(strict_identity, "dan", "") == "code-needed"
    assert refusal(strict_identity, "dan", at_enrolment) == "code", "the code was used to enrol"
    code = device.code()
    assert strict_identity.authentication.sign_in("dan", PASSWORD, code=f" {code[:3]} {code[3:]} ")
    assert refusal(strict_identity, "dan", code) == "code"
    assert refusal(strict_identity, "dan", "000000") == "code"


def test_totp_code_two_steps_off_or_before_the_last_used_step_is_refused(
    strict_identity: IdentityService, cluster: IdentityCluster
) -> None:
    add_account(strict_identity, "dan", "dealer")
    device, _ = cluster.enrol(strict_identity, "dan")
    cluster.clock.move(300)

    assert refusal(strict_identity, "dan", device.shown(-60)) == "code"
    assert refusal(strict_identity, "dan", device.shown(60)) == "code"
    before, ahead = device.shown(-30), device.shown(30)
    assert strict_identity.authentication.sign_in("dan", PASSWORD, code=ahead)
    assert refusal(strict_identity, "dan", before) == "code"


def test_sign_in_without_a_code_neither_counts_as_failure_nor_clears_failures(
    strict_identity: IdentityService, cluster: IdentityCluster
) -> None:
    add_account(strict_identity, "dan", "dealer")
    device, _ = cluster.enrol(strict_identity, "dan")

    for _ in range(10):
        assert refusal(strict_identity, "dan", "") == "code-needed"
    for _ in range(4):
        assert refusal(strict_identity, "dan", "12345") == "code"
        assert refusal(strict_identity, "dan", "") == "code-needed"
    assert refusal(strict_identity, "dan", "12345") == "code"
    assert refusal(strict_identity, "dan", "") == "wait", (
        "codes cannot be guessed faster than passwords"
    )
    assert strict_identity.authentication.sign_in("dan", PASSWORD, code=device.code())


def test_wrong_password_neither_asks_for_a_code_nor_consumes_one(
    strict_identity: IdentityService, cluster: IdentityCluster
) -> None:
    add_account(strict_identity, "dan", "dealer")
    device, _ = cluster.enrol(strict_identity, "dan")

    with pytest.raises(SignInRefused) as refused:
        strict_identity.authentication.sign_in("dan", "wrong and wrong", code=device.code())

    assert refused.value.reason == "credentials"
    assert strict_identity.authentication.sign_in("dan", PASSWORD, code=device.shown()), (
        "the code was not used up"
    )


def test_disabled_account_is_not_asked_for_a_code(
    strict_identity: IdentityService, cluster: IdentityCluster
) -> None:
    dan = add_account(strict_identity, "dan", "dealer")
    cluster.enrol(strict_identity, "dan")
    strict_identity.accounts.disable(dan.id)

    assert refusal(strict_identity, "dan", "") == "credentials"


def test_recovery_code_works_once_and_only_for_its_account(
    strict_identity: IdentityService, clock: SteppedClock
) -> None:
    codes = {}
    for name in ("dan", "sue"):
        add_account(strict_identity, name, "dealer")
        first = strict_identity.authentication.sign_in(name, PASSWORD).token
        device = TotpDevice(strict_identity.second_factors.begin_enrolment(first).secret, clock)
        codes[name] = strict_identity.second_factors.confirm_enrolment(
            first, device.code()
        ).recovery_codes

    assert refusal(strict_identity, "sue", codes["dan"][0]) == "code"
    assert strict_identity.authentication.sign_in("dan", PASSWORD, code=codes["dan"][0].upper())
    assert refusal(strict_identity, "dan", codes["dan"][0]) == "code"
    assert strict_identity.authentication.sign_in(
        "dan", PASSWORD, code=codes["dan"][9].replace("-", " ")
    )
    used = [
        event for event in strict_identity.audit_trail.security_events() if "recovery" in event.kind
    ]
    assert [event.detail for event in used] == ["9 left", "8 left"]


def test_new_recovery_codes_replace_the_old_ones(
    strict_identity: IdentityService, cluster: IdentityCluster
) -> None:
    add_account(strict_identity, "dan", "dealer")
    first = strict_identity.authentication.sign_in("dan", PASSWORD).token
    device = TotpDevice(strict_identity.second_factors.begin_enrolment(first).secret, cluster.clock)
    done = strict_identity.second_factors.confirm_enrolment(first, device.code())
    token = done.issued_session.token

    with pytest.raises(SessionRefused):
        strict_identity.second_factors.replace_recovery_codes(token, password=PASSWORD, code="")
    with pytest.raises(SignInRefused):
        strict_identity.second_factors.replace_recovery_codes(
            token, password="wrong", code=device.code()
        )
    new = strict_identity.second_factors.replace_recovery_codes(
        token, password=PASSWORD, code=device.code()
    )

    assert refusal(strict_identity, "dan", done.recovery_codes[0]) == "code"
    assert strict_identity.authentication.sign_in("dan", PASSWORD, code=new[0])


def test_replacing_a_second_factor_requires_a_code_of_the_old_one(
    strict_identity: IdentityService, cluster: IdentityCluster
) -> None:
    add_account(strict_identity, "dan", "dealer")
    old, signed_in = cluster.enrol(strict_identity, "dan")
    token = signed_in.token

    with pytest.raises(SessionRefused) as refused:
        strict_identity.second_factors.begin_enrolment(token)
    assert refused.value.reason == "enrolled"
    with pytest.raises(SignInRefused):
        strict_identity.second_factors.begin_enrolment(token, password=PASSWORD, code="000000")
    new = TotpDevice(
        strict_identity.second_factors.begin_enrolment(
            token, password=PASSWORD, code=old.code()
        ).secret,
        old.clock,
    )

    assert strict_identity.authentication.sign_in("dan", PASSWORD, code=old.code()), (
        "the old device works until the new one is confirmed"
    )
    with pytest.raises(SignInRefused):
        strict_identity.second_factors.confirm_enrolment(token, old.code())
    strict_identity.second_factors.confirm_enrolment(token, new.code())
    assert refusal(strict_identity, "dan", old.code()) == "code"
    assert strict_identity.authentication.sign_in("dan", PASSWORD, code=new.code())


def test_confirming_an_enrolment_that_was_not_begun_is_refused(
    strict_identity: IdentityService,
) -> None:
    add_account(strict_identity, "dan", "dealer")
    token = strict_identity.authentication.sign_in("dan", PASSWORD).token

    with pytest.raises(SessionRefused) as refused:
        strict_identity.second_factors.confirm_enrolment(token, "000000")
    assert refused.value.reason == "not-begun"


def test_resetting_a_second_factor_ends_all_sessions(
    strict_identity: IdentityService, cluster: IdentityCluster
) -> None:
    dan = add_account(strict_identity, "dan", "dealer")
    _, signed_in = cluster.enrol(strict_identity, "dan")

    strict_identity.second_factors.reset(dan.id, by="sue")

    assert strict_identity.sessions.resolve(signed_in.token) is None
    assert strict_identity.authentication.sign_in("dan", PASSWORD).session.state == "enrolment"


def test_totp_secret_is_encrypted_and_bound_to_its_account(
    strict_identity: IdentityService, cluster: IdentityCluster
) -> None:
    dan, sue = (
        add_account(strict_identity, "dan", "dealer"),
        add_account(strict_identity, "sue", "dealer"),
    )
    device, _ = cluster.enrol(strict_identity, "dan")
    cluster.enrol(strict_identity, "sue")
    database = strict_identity.context.database
    ((sealed,),) = database.query("SELECT secret FROM people_codes WHERE account = ?", (dan.id,))
    assert device.secret.encode() not in sealed

    sql = "UPDATE people_codes SET secret = ? WHERE account = ?"
    database.transact(lambda run: run(sql, (sealed, sue.id)))

    with pytest.raises(TamperedData):
        strict_identity.authentication.sign_in("sue", PASSWORD, code=device.code())
