-- Version 1: the tables of the log and of identity.
--
-- Every statement leaves alone what exists: databases written before there was a table of versions
-- have these tables already, and get only that one.

CREATE TABLE IF NOT EXISTS schema_versions (
    version INTEGER NOT NULL,
    applied TEXT NOT NULL DEFAULT CURRENT_TIMESTAMP,
    PRIMARY KEY (version)
) STRICT;

-- --- log -----------------------------------------------------------------------------------------

-- Idempotency keys: the answer to every accepted command.
CREATE TABLE IF NOT EXISTS answers (
    account TEXT NOT NULL,
    "key" TEXT NOT NULL,
    command_hash BLOB NOT NULL,
    spans BLOB NOT NULL,
    PRIMARY KEY (account, "key")
) STRICT;

-- The signed heads of all streams.
CREATE TABLE IF NOT EXISTS checkpoints (
    number INTEGER NOT NULL,
    body BLOB NOT NULL,
    key_id TEXT NOT NULL,
    signature BLOB NOT NULL,
    PRIMARY KEY (number)
) STRICT;

-- The log. Measured in SQLite: WITHOUT ROWID (entries clustered by stream) makes a batch for many
-- streams touch more pages and take twice as long.
CREATE TABLE IF NOT EXISTS entries (
    stream TEXT NOT NULL,
    version INTEGER NOT NULL,
    at INTEGER NOT NULL,
    kind TEXT NOT NULL,
    schema INTEGER NOT NULL,
    data BLOB NOT NULL,
    cause BLOB NOT NULL,
    hash BLOB NOT NULL,
    PRIMARY KEY (stream, version)
) STRICT;

-- The canonical bytes of every game that a round pins.
CREATE TABLE IF NOT EXISTS games (
    hash TEXT NOT NULL,
    canonical BLOB NOT NULL,
    PRIMARY KEY (hash)
) STRICT;

-- Leases of dealers and servers, by the database's clock.
CREATE TABLE IF NOT EXISTS leases (
    name TEXT NOT NULL,
    holder TEXT NOT NULL,
    until REAL NOT NULL,
    PRIMARY KEY (name)
) STRICT;

-- Projections, which can be rebuilt from the log; `views` holds how far each is.
CREATE TABLE IF NOT EXISTS lines (
    "view" TEXT NOT NULL,
    subject TEXT NOT NULL,
    stream TEXT NOT NULL,
    version INTEGER NOT NULL,
    place INTEGER NOT NULL,
    at INTEGER NOT NULL,
    data BLOB NOT NULL,
    PRIMARY KEY ("view", stream, version, place)
) STRICT;
CREATE INDEX IF NOT EXISTS lines_by_stream ON lines ("view", stream, at);
CREATE INDEX IF NOT EXISTS lines_by_subject ON lines ("view", subject, at);
CREATE INDEX IF NOT EXISTS lines_by_time ON lines ("view", at);

-- Facts about the database: which program's it is, and why writing is suspended.
CREATE TABLE IF NOT EXISTS meta (
    name TEXT NOT NULL,
    value TEXT NOT NULL,
    PRIMARY KEY (name)
) STRICT;

-- Personal data of players, outside the hash chain so that it can be erased.
CREATE TABLE IF NOT EXISTS people (
    player TEXT NOT NULL,
    data BLOB NOT NULL,
    PRIMARY KEY (player)
) STRICT;

-- Folded states of streams, which can be rebuilt.
CREATE TABLE IF NOT EXISTS snapshots (
    stream TEXT NOT NULL,
    name TEXT NOT NULL,
    form TEXT NOT NULL,
    version INTEGER NOT NULL,
    hash BLOB NOT NULL,
    data BLOB NOT NULL,
    PRIMARY KEY (stream, name)
) STRICT;

-- The head of each stream.
CREATE TABLE IF NOT EXISTS streams (
    stream TEXT NOT NULL,
    version INTEGER NOT NULL,
    hash BLOB NOT NULL,
    PRIMARY KEY (stream)
) STRICT;

CREATE TABLE IF NOT EXISTS views (
    "view" TEXT NOT NULL,
    stream TEXT NOT NULL,
    version INTEGER NOT NULL,
    PRIMARY KEY ("view", stream)
) STRICT;

-- --- identity ------------------------------------------------------------------------------------

-- first_until: expiry of a first password; 0: no first password.
CREATE TABLE IF NOT EXISTS people_accounts (
    id TEXT NOT NULL,
    name TEXT NOT NULL,
    roles TEXT NOT NULL,
    enabled INTEGER NOT NULL,
    created INTEGER NOT NULL,
    password TEXT NOT NULL,
    first_until INTEGER NOT NULL,
    PRIMARY KEY (id)
) STRICT;
CREATE UNIQUE INDEX IF NOT EXISTS people_accounts_by_name ON people_accounts (name);

-- place: a table's id; empty: all tables.
CREATE TABLE IF NOT EXISTS people_assignments (
    id TEXT NOT NULL,
    account TEXT NOT NULL,
    place TEXT NOT NULL,
    role TEXT NOT NULL,
    starts INTEGER NOT NULL,
    ends INTEGER NOT NULL,
    PRIMARY KEY (id)
) STRICT;
CREATE INDEX IF NOT EXISTS people_assignments_by_account ON people_assignments (account, ends);
CREATE INDEX IF NOT EXISTS people_assignments_by_end ON people_assignments (ends);

-- Failed sign-ins, by a keyed hash of name or address.
CREATE TABLE IF NOT EXISTS people_attempts (
    mark BLOB NOT NULL,
    failures INTEGER NOT NULL,
    latest INTEGER NOT NULL,
    PRIMARY KEY (mark)
) STRICT;
CREATE INDEX IF NOT EXISTS people_attempts_by_time ON people_attempts (latest);

-- Changes of access, numbered in commit order for the servers that poll them.
CREATE TABLE IF NOT EXISTS people_changes (
    number INTEGER NOT NULL,
    account TEXT NOT NULL,
    session TEXT NOT NULL,
    what TEXT NOT NULL,
    PRIMARY KEY (number)
) STRICT;

-- secret, pending: encrypted; empty: no second factor, no enrolment in progress.
-- step: TOTP step of the last accepted code.
CREATE TABLE IF NOT EXISTS people_codes (
    account TEXT NOT NULL,
    secret BLOB NOT NULL,
    pending BLOB NOT NULL,
    step INTEGER NOT NULL,
    PRIMARY KEY (account)
) STRICT;

-- Security events are append-only. The database enforces it, in case the program has a defect.
CREATE TABLE IF NOT EXISTS people_events (
    number INTEGER NOT NULL,
    at INTEGER NOT NULL,
    kind TEXT NOT NULL,
    account TEXT NOT NULL,
    actor TEXT NOT NULL,
    source TEXT NOT NULL,
    detail TEXT NOT NULL,
    PRIMARY KEY (number)
) STRICT;
CREATE TRIGGER IF NOT EXISTS people_events_no_update BEFORE UPDATE ON people_events
    BEGIN SELECT RAISE(ABORT, 'security events are only added'); END;
CREATE TRIGGER IF NOT EXISTS people_events_no_delete BEFORE DELETE ON people_events
    BEGIN SELECT RAISE(ABORT, 'security events are only added'); END;

CREATE TABLE IF NOT EXISTS people_meta (
    name TEXT NOT NULL,
    value TEXT NOT NULL,
    PRIMARY KEY (name)
) STRICT;

-- Recovery codes, by a keyed hash.
CREATE TABLE IF NOT EXISTS people_recovery (
    account TEXT NOT NULL,
    mark BLOB NOT NULL,
    PRIMARY KEY (account, mark)
) STRICT;

-- Requests that need a second person.
CREATE TABLE IF NOT EXISTS people_requests (
    id TEXT NOT NULL,
    account TEXT NOT NULL,
    place TEXT NOT NULL,
    command BLOB NOT NULL,
    command_hash BLOB NOT NULL,
    reason TEXT NOT NULL,
    roles TEXT NOT NULL,
    opened INTEGER NOT NULL,
    expires INTEGER NOT NULL,
    state TEXT NOT NULL,
    decided_by TEXT NOT NULL,
    decided INTEGER NOT NULL,
    note TEXT NOT NULL,
    PRIMARY KEY (id)
) STRICT;
CREATE INDEX IF NOT EXISTS people_requests_by_state ON people_requests (state, expires);

CREATE TABLE IF NOT EXISTS people_sessions (
    id TEXT NOT NULL,
    digest BLOB NOT NULL,
    account TEXT NOT NULL,
    created INTEGER NOT NULL,
    seen INTEGER NOT NULL,
    ends INTEGER NOT NULL,
    locked INTEGER NOT NULL,
    PRIMARY KEY (id)
) STRICT;
CREATE INDEX IF NOT EXISTS people_sessions_by_account ON people_sessions (account);
CREATE UNIQUE INDEX IF NOT EXISTS people_sessions_by_digest ON people_sessions (digest);

-- expires: 0: never. used: rounded down to the hour; 0: never.
CREATE TABLE IF NOT EXISTS people_tokens (
    id TEXT NOT NULL,
    digest BLOB NOT NULL,
    prefix TEXT NOT NULL,
    account TEXT NOT NULL,
    name TEXT NOT NULL,
    scopes TEXT NOT NULL,
    created INTEGER NOT NULL,
    expires INTEGER NOT NULL,
    used INTEGER NOT NULL,
    PRIMARY KEY (id)
) STRICT;
CREATE INDEX IF NOT EXISTS people_tokens_by_account ON people_tokens (account);
CREATE UNIQUE INDEX IF NOT EXISTS people_tokens_by_digest ON people_tokens (digest);

INSERT INTO meta (name, value) VALUES ('program', 'threedice') ON CONFLICT DO NOTHING;
INSERT INTO meta (name, value) VALUES ('schema', '1') ON CONFLICT DO NOTHING;
INSERT INTO people_meta (name, value) VALUES ('schema', '1') ON CONFLICT DO NOTHING;
