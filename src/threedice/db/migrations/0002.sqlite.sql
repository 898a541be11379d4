-- Version 2: staff are enrolled by two administrators.

-- Enrolment.
-- enrolled_by: who gave the account its staff roles; reset_by: who last reset its password or its
-- second factor. held_by: accounts, separated by commas, whose owners may know its credentials
-- because no second administrator has confirmed them. confirmed: since when the account counts as
-- a second person; 0: always, like the accounts from before this version.
ALTER TABLE people_accounts ADD COLUMN enrolled_by TEXT NOT NULL DEFAULT '';
ALTER TABLE people_accounts ADD COLUMN reset_by TEXT NOT NULL DEFAULT '';
ALTER TABLE people_accounts ADD COLUMN held_by TEXT NOT NULL DEFAULT '';
ALTER TABLE people_accounts ADD COLUMN confirmed INTEGER NOT NULL DEFAULT 0;

-- What an administrator asked for and another one has confirmed, declined or still to decide.
-- kind: account, roles, enabling or reset. roles: those that the account has afterwards.
CREATE TABLE people_enrolments (
    id TEXT NOT NULL,
    account TEXT NOT NULL,
    kind TEXT NOT NULL,
    roles TEXT NOT NULL,
    asked_by TEXT NOT NULL,
    asked INTEGER NOT NULL,
    state TEXT NOT NULL,
    decided_by TEXT NOT NULL,
    decided INTEGER NOT NULL,
    PRIMARY KEY (id)
) STRICT;
CREATE INDEX people_enrolments_by_state ON people_enrolments (state, account);

-- Sessions: the second factor that opened the session (code, recovery code); empty: none.
ALTER TABLE people_sessions ADD COLUMN factor TEXT NOT NULL DEFAULT '';

-- Displays: the tokens of results boards. place: the only table that a board shows.
CREATE TABLE people_displays (
    id TEXT NOT NULL,
    digest BLOB NOT NULL,
    prefix TEXT NOT NULL,
    place TEXT NOT NULL,
    label TEXT NOT NULL,
    created INTEGER NOT NULL,
    made_by TEXT NOT NULL,
    PRIMARY KEY (id)
) STRICT;
CREATE UNIQUE INDEX people_displays_by_digest ON people_displays (digest);

-- Known devices, by a hash of their cookie's token. session: the last one opened on the device.
CREATE TABLE people_devices (
    digest BLOB NOT NULL,
    account TEXT NOT NULL,
    session TEXT NOT NULL,
    used INTEGER NOT NULL,
    PRIMARY KEY (account, digest)
) STRICT;
CREATE INDEX people_devices_by_session ON people_devices (session);
