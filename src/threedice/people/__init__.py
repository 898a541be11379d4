"""People: who may sign in, in which role, at which tables; and what needs a second person.

`open_people` opens all of it. Nothing here is asynchronous: whatever verifies a password is slow by
intention and belongs into a thread; recognising a token is quick.
"""

from threedice.people.accounts import Account, FirstPassword
from threedice.people.assignments import Assignment
from threedice.people.changes import Change
from threedice.people.enrolling import Enrolled
from threedice.people.errors import (
    AccountRefused,
    NoSuch,
    PasswordRefused,
    PeopleError,
    RequestRefused,
    SessionRefused,
    SignInRefused,
)
from threedice.people.opening import People, open_people
from threedice.people.passwords import Cost
from threedice.people.policy import Policy
from threedice.people.requests import Request
from threedice.people.roles import ROLES, STAFF, Role, is_staff
from threedice.people.sessions import Session, SignedIn, Standing
from threedice.people.tokens import NewToken, Program
from threedice.people.totp import Enrolment
from threedice.people.trail import SecurityEvent

__all__ = [
    "ROLES",
    "STAFF",
    "Account",
    "AccountRefused",
    "Assignment",
    "Change",
    "Cost",
    "Enrolled",
    "Enrolment",
    "FirstPassword",
    "NewToken",
    "NoSuch",
    "PasswordRefused",
    "People",
    "PeopleError",
    "Policy",
    "Program",
    "Request",
    "RequestRefused",
    "Role",
    "SecurityEvent",
    "Session",
    "SessionRefused",
    "SignInRefused",
    "SignedIn",
    "Standing",
    "is_staff",
    "open_people",
]
