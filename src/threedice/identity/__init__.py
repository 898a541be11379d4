"""People: who may sign in, in which role, at which tables; and what needs a second person.

`open_people` opens all of it. Nothing here is asynchronous: whatever verifies a password is slow by
intention and belongs into a thread; recognising a token is quick.
"""

from threedice.identity.access_changes import AccessChange
from threedice.identity.accounts import Account, FirstPassword
from threedice.identity.approvals import ApprovalRequest
from threedice.identity.assignments import Assignment
from threedice.identity.audit_trail import SecurityEvent
from threedice.identity.errors import (
    AccountRefused,
    ApprovalRefused,
    IdentityError,
    PasswordRefused,
    RecordNotFound,
    SessionRefused,
    SignInRefused,
)
from threedice.identity.passwords import Argon2Cost
from threedice.identity.roles import ROLES, STAFF, IdentityPolicy, Role, is_staff
from threedice.identity.second_factors import ConfirmedEnrolment, TotpEnrolment
from threedice.identity.service import IdentityService, open_identity
from threedice.identity.sessions import IssuedSession, Session, SessionState
from threedice.identity.tokens import ApiToken, NewToken

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
