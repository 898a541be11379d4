"""Second factors: enrolment, single use of codes, and loss of the device."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import parse_qs, unquote, urlsplit

import pyotp
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.identity.setting import PASSWORD, Telephone, add
from threedice.errors import TamperedData
from threedice.identity import IdentityPolicy, SessionRefused, SignInRefused
from threedice.identity.roles import SECOND
from threedice.identity.second_factors import matching_totp_step

if TYPE_CHECKING:
    from tests.identity.setting import HandClock, Setting
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


def refusal(people: IdentityService, name: str, code: str) -> str:
    with pytest.raises(SignInRefused) as refused:
        people.authentication.sign_in(name, PASSWORD, code=code)
    return refused.value.reason


def test_staff_session_stays_in_enrolment_until_a_second_factor_is_confirmed(
    strict: IdentityService, setting: Setting
) -> None:
    add(strict, "dan", "dealer")
    first = strict.authentication.sign_in("dan", PASSWORD)
    assert first.session.state == "enrolment"

    enrolment = strict.second_factors.begin_enrolment(first.token)
    telephone = Telephone(enrolment.secret, setting.clock)
    done = strict.second_factors.confirm_enrolment(first.token, telephone.code())

    uri = urlsplit(enrolment.uri)
    assert (uri.scheme, uri.netloc, unquote(uri.path)) == ("otpauth", "totp", "/Threedice:dan")
    assert parse_qs(uri.query)["secret"] == [enrolment.secret]
    assert done.issued_session.session.state == "open"
    assert strict.sessions.resolve(first.token) is None, "a token for more is a new one"
    assert len(set(done.recovery_codes)) == 10


def test_player_signs_in_without_a_second_factor(strict: IdentityService) -> None:
    add(strict, "ann", "player")

    assert strict.authentication.sign_in("ann", PASSWORD).session.state == "open"


def test_optional_second_factor_is_required_of_enrolled_accounts(
    strict: IdentityService, setting: Setting
) -> None:
    add(strict, "dan", "dealer")
    demo = setting.open(IdentityPolicy(second_factor=False))
    assert demo.authentication.sign_in("dan", PASSWORD).session.state == "open"

    telephone, _ = setting.enrol(strict, "dan")

    assert refusal(demo, "dan", "") == "code-needed"
    assert demo.authentication.sign_in("dan", PASSWORD, code=telephone.code())


def test_totp_code_is_required_and_accepted_once(strict: IdentityService, setting: Setting) -> None:
    add(strict, "dan", "dealer")
    telephone, _ = setting.enrol(strict, "dan")
    at_enrolment = telephone.shown()

    assert refusal(strict, "dan", "") == "code-needed"
    assert refusal(strict, "dan", at_enrolment) == "code", "it was used to enrol"
    code = telephone.code()
    assert strict.authentication.sign_in("dan", PASSWORD, code=f" {code[:3]} {code[3:]} ")
    assert refusal(strict, "dan", code) == "code"
    assert refusal(strict, "dan", "000000") == "code"


def test_totp_code_two_steps_off_or_before_the_last_used_step_is_refused(
    strict: IdentityService, setting: Setting
) -> None:
    add(strict, "dan", "dealer")
    telephone, _ = setting.enrol(strict, "dan")
    setting.clock.move(300)

    assert refusal(strict, "dan", telephone.shown(-60)) == "code"
    assert refusal(strict, "dan", telephone.shown(60)) == "code"
    before, ahead = telephone.shown(-30), telephone.shown(30)
    assert strict.authentication.sign_in("dan", PASSWORD, code=ahead)
    assert refusal(strict, "dan", before) == "code"


def test_sign_in_without_a_code_neither_counts_as_failure_nor_clears_failures(
    strict: IdentityService, setting: Setting
) -> None:
    add(strict, "dan", "dealer")
    telephone, _ = setting.enrol(strict, "dan")

    for _ in range(10):
        assert refusal(strict, "dan", "") == "code-needed"
    for _ in range(4):
        assert refusal(strict, "dan", "12345") == "code"
        assert refusal(strict, "dan", "") == "code-needed"
    assert refusal(strict, "dan", "12345") == "code"
    assert refusal(strict, "dan", "") == "wait", "codes cannot be guessed faster than passwords"
    assert strict.authentication.sign_in("dan", PASSWORD, code=telephone.code())


def test_wrong_password_neither_asks_for_a_code_nor_consumes_one(
    strict: IdentityService, setting: Setting
) -> None:
    add(strict, "dan", "dealer")
    telephone, _ = setting.enrol(strict, "dan")

    with pytest.raises(SignInRefused) as refused:
        strict.authentication.sign_in("dan", "wrong and wrong", code=telephone.code())

    assert refused.value.reason == "credentials"
    assert strict.authentication.sign_in("dan", PASSWORD, code=telephone.shown()), (
        "the code was not used up"
    )


def test_disabled_account_is_not_asked_for_a_code(
    strict: IdentityService, setting: Setting
) -> None:
    dan = add(strict, "dan", "dealer")
    setting.enrol(strict, "dan")
    strict.accounts.disable(dan.id)

    assert refusal(strict, "dan", "") == "credentials"


def test_recovery_code_works_once_and_only_for_its_account(
    strict: IdentityService, clock: HandClock
) -> None:
    codes = {}
    for name in ("dan", "sue"):
        add(strict, name, "dealer")
        first = strict.authentication.sign_in(name, PASSWORD).token
        telephone = Telephone(strict.second_factors.begin_enrolment(first).secret, clock)
        codes[name] = strict.second_factors.confirm_enrolment(
            first, telephone.code()
        ).recovery_codes

    assert refusal(strict, "sue", codes["dan"][0]) == "code"
    assert strict.authentication.sign_in("dan", PASSWORD, code=codes["dan"][0].upper())
    assert refusal(strict, "dan", codes["dan"][0]) == "code"
    assert strict.authentication.sign_in("dan", PASSWORD, code=codes["dan"][9].replace("-", " "))
    used = [event for event in strict.audit_trail.security_events() if "recovery" in event.kind]
    assert [event.detail for event in used] == ["9 left", "8 left"]


def test_new_recovery_codes_replace_the_old_ones(strict: IdentityService, setting: Setting) -> None:
    add(strict, "dan", "dealer")
    first = strict.authentication.sign_in("dan", PASSWORD).token
    telephone = Telephone(strict.second_factors.begin_enrolment(first).secret, setting.clock)
    done = strict.second_factors.confirm_enrolment(first, telephone.code())
    token = done.issued_session.token

    with pytest.raises(SessionRefused):
        strict.second_factors.replace_recovery_codes(token, password=PASSWORD, code="")
    with pytest.raises(SignInRefused):
        strict.second_factors.replace_recovery_codes(token, password="wrong", code=telephone.code())
    new = strict.second_factors.replace_recovery_codes(
        token, password=PASSWORD, code=telephone.code()
    )

    assert refusal(strict, "dan", done.recovery_codes[0]) == "code"
    assert strict.authentication.sign_in("dan", PASSWORD, code=new[0])


def test_replacing_a_second_factor_requires_a_code_of_the_old_one(
    strict: IdentityService, setting: Setting
) -> None:
    add(strict, "dan", "dealer")
    old, signed_in = setting.enrol(strict, "dan")
    token = signed_in.token

    with pytest.raises(SessionRefused) as refused:
        strict.second_factors.begin_enrolment(token)
    assert refused.value.reason == "enrolled"
    with pytest.raises(SignInRefused):
        strict.second_factors.begin_enrolment(token, password=PASSWORD, code="000000")
    new = Telephone(
        strict.second_factors.begin_enrolment(token, password=PASSWORD, code=old.code()).secret,
        old.clock,
    )

    assert strict.authentication.sign_in("dan", PASSWORD, code=old.code()), (
        "the old are good until then"
    )
    with pytest.raises(SignInRefused):
        strict.second_factors.confirm_enrolment(token, old.code())
    strict.second_factors.confirm_enrolment(token, new.code())
    assert refusal(strict, "dan", old.code()) == "code"
    assert strict.authentication.sign_in("dan", PASSWORD, code=new.code())


def test_confirming_an_enrolment_that_was_not_begun_is_refused(strict: IdentityService) -> None:
    add(strict, "dan", "dealer")
    token = strict.authentication.sign_in("dan", PASSWORD).token

    with pytest.raises(SessionRefused) as refused:
        strict.second_factors.confirm_enrolment(token, "000000")
    assert refused.value.reason == "not-begun"


def test_resetting_a_second_factor_ends_all_sessions(
    strict: IdentityService, setting: Setting
) -> None:
    dan = add(strict, "dan", "dealer")
    _, signed_in = setting.enrol(strict, "dan")

    strict.second_factors.reset(dan.id, by="sue")

    assert strict.sessions.resolve(signed_in.token) is None
    assert strict.authentication.sign_in("dan", PASSWORD).session.state == "enrolment"


def test_totp_secret_is_encrypted_and_bound_to_its_account(
    strict: IdentityService, setting: Setting
) -> None:
    dan, sue = add(strict, "dan", "dealer"), add(strict, "sue", "dealer")
    telephone, _ = setting.enrol(strict, "dan")
    setting.enrol(strict, "sue")
    database = strict.context.database
    ((sealed,),) = database.query("SELECT secret FROM people_codes WHERE account = ?", (dan.id,))
    assert telephone.secret.encode() not in sealed

    sql = "UPDATE people_codes SET secret = ? WHERE account = ?"
    database.transact(lambda run: run(sql, (sealed, sue.id)))

    with pytest.raises(TamperedData):
        strict.authentication.sign_in("sue", PASSWORD, code=telephone.code())
