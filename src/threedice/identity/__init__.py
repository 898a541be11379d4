"""User accounts: sign-in, roles, sessions, second factors, table assignments and approvals.

`open_identity` opens all of it as an `IdentityService`. Nothing here is asynchronous. Every call
that verifies or hashes a password is slow by design and belongs in a thread; resolving a token that
is in the cache is fast.

Where to look: `accounts`, `roles`, `assignments` (who works at which table), `access_changes`
(revocation across servers), `audit_trail`. In `authentication`: `sign_in` (sign in, unlock, change
password), `sign_in_throttle` (waiting time after failed attempts), `devices` (devices that signed
in before), `second_factors` (TOTP and recovery codes), `sessions`, `tokens` (API tokens),
`displays` (tokens of results boards). In `approval`: `approvals` (requests that need a second
person), `enrolments` (staff that a second administrator confirms).
"""

from threedice.identity.access_changes import AccessChange
from threedice.identity.accounts import Account, FirstPassword
from threedice.identity.approval.approvals import ApprovalRequest
from threedice.identity.approval.enrolments import Enrolment
from threedice.identity.assignments import Assignment
from threedice.identity.audit_trail import SecurityEvent
from threedice.identity.authentication.passwords import Argon2Cost
from threedice.identity.authentication.second_factors import ConfirmedEnrolment, TotpEnrolment
from threedice.identity.authentication.sessions import IssuedSession, Session, SessionState
from threedice.identity.authentication.tokens import ApiToken, NewToken
from threedice.identity.errors import (
    AccountRefused,
    ApprovalRefused,
    IdentityError,
    PasswordRefused,
    RecordNotFound,
    SessionRefused,
    SignInRefused,
)
from threedice.identity.roles import ROLES, STAFF, IdentityPolicy, Role, is_staff
from threedice.identity.service import IdentityService, open_identity

__all__ = [
    "ROLES",
    "STAFF",
    "AccessChange",
    "Account",
    "AccountRefused",
    "ApiToken",
    "ApprovalRefused",
    "ApprovalRequest",
    "Argon2Cost",
    "Assignment",
    "ConfirmedEnrolment",
    "Enrolment",
    "FirstPassword",
    "IdentityError",
    "IdentityPolicy",
    "IdentityService",
    "IssuedSession",
    "NewToken",
    "PasswordRefused",
    "RecordNotFound",
    "Role",
    "SecurityEvent",
    "Session",
    "SessionRefused",
    "SessionState",
    "SignInRefused",
    "TotpEnrolment",
    "is_staff",
    "open_identity",
]
