-- Version 1: the tables of the log and of identity.
--
-- Every statement leaves alone what exists: databases written before there was a table of versions
-- have these tables already, and get only that one.

CREATE TABLE IF NOT EXISTS schema_versions (
    version BIGINT NOT NULL,
    applied TIMESTAMPTZ NOT NULL DEFAULT CURRENT_TIMESTAMP,
    PRIMARY KEY (version)
);

-- --- log -----------------------------------------------------------------------------------------

-- Idempotency keys: the answer to every accepted command.
CREATE TABLE IF NOT EXISTS answers (
    account TEXT COLLATE "C" NOT NULL,
    key TEXT COLLATE "C" NOT NULL,
    command_hash BYTEA NOT NULL,
    spans BYTEA NOT NULL,
    PRIMARY KEY (account, key)
);

-- The signed heads of all streams.
CREATE TABLE IF NOT EXISTS checkpoints (
    number BIGINT NOT NULL,
    body BYTEA NOT NULL,
    key_id TEXT COLLATE "C" NOT NULL,
    signature BYTEA NOT NULL,
    PRIMARY KEY (number)
);

-- The log. Measured in SQLite: WITHOUT ROWID (entries clustered by stream) makes a batch for many
-- streams touch more pages and take twice as long.
CREATE TABLE IF NOT EXISTS entries (
    stream TEXT COLLATE "C" NOT NULL,
    version BIGINT NOT NULL,
    at BIGINT NOT NULL,
    kind TEXT COLLATE "C" NOT NULL,
    schema INTEGER NOT NULL,
    data BYTEA NOT NULL,
    cause BYTEA NOT NULL,
    hash BYTEA NOT NULL,
    PRIMARY KEY (stream, version)
);

-- The canonical bytes of every game that a round pins.
CREATE TABLE IF NOT EXISTS games (
    hash TEXT COLLATE "C" NOT NULL,
    canonical BYTEA NOT NULL,
    PRIMARY KEY (hash)
);

-- Leases of dealers and servers, by the database's clock.
CREATE TABLE IF NOT EXISTS leases (
    name TEXT COLLATE "C" NOT NULL,
    holder TEXT COLLATE "C" NOT NULL,
    until DOUBLE PRECISION NOT NULL,
    PRIMARY KEY (name)
);

-- Projections, which can be rebuilt from the log; `views` holds how far each is.
CREATE TABLE IF NOT EXISTS lines (
    view TEXT COLLATE "C" NOT NULL,
    subject TEXT COLLATE "C" NOT NULL,
    stream TEXT COLLATE "C" NOT NULL,
    version BIGINT NOT NULL,
    place BIGINT NOT NULL,
    at BIGINT NOT NULL,
    data BYTEA NOT NULL,
    PRIMARY KEY (view, stream, version, place)
);
CREATE INDEX IF NOT EXISTS lines_by_stream ON lines (view, stream, at);
CREATE INDEX IF NOT EXISTS lines_by_subject ON lines (view, subject, at);
CREATE INDEX IF NOT EXISTS lines_by_time ON lines (view, at);

-- Facts about the database: which program's it is, and why writing is suspended.
CREATE TABLE IF NOT EXISTS meta (
    name TEXT COLLATE "C" NOT NULL,
    value TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (name)
);

-- Personal data of players, outside the hash chain so that it can be erased.
CREATE TABLE IF NOT EXISTS people (
    player TEXT COLLATE "C" NOT NULL,
    data BYTEA NOT NULL,
    PRIMARY KEY (player)
);

-- Folded states of streams, which can be rebuilt.
CREATE TABLE IF NOT EXISTS snapshots (
    stream TEXT COLLATE "C" NOT NULL,
    name TEXT COLLATE "C" NOT NULL,
    form TEXT COLLATE "C" NOT NULL,
    version BIGINT NOT NULL,
    hash BYTEA NOT NULL,
    data BYTEA NOT NULL,
    PRIMARY KEY (stream, name)
);

-- The head of each stream.
CREATE TABLE IF NOT EXISTS streams (
    stream TEXT COLLATE "C" NOT NULL,
    version BIGINT NOT NULL,
    hash BYTEA NOT NULL,
    PRIMARY KEY (stream)
);

CREATE TABLE IF NOT EXISTS views (
    view TEXT COLLATE "C" NOT NULL,
    stream TEXT COLLATE "C" NOT NULL,
    version BIGINT NOT NULL,
    PRIMARY KEY (view, stream)
);

-- --- identity ------------------------------------------------------------------------------------

-- first_until: expiry of a first password; 0: no first password.
CREATE TABLE IF NOT EXISTS people_accounts (
    id TEXT COLLATE "C" NOT NULL,
    name TEXT COLLATE "C" NOT NULL,
    roles TEXT COLLATE "C" NOT NULL,
    enabled INTEGER NOT NULL,
    created BIGINT NOT NULL,
    password TEXT COLLATE "C" NOT NULL,
    first_until BIGINT NOT NULL,
    PRIMARY KEY (id)
);
CREATE UNIQUE INDEX IF NOT EXISTS people_accounts_by_name ON people_accounts (name);

-- place: a table's id; empty: all tables.
CREATE TABLE IF NOT EXISTS people_assignments (
    id TEXT COLLATE "C" NOT NULL,
    account TEXT COLLATE "C" NOT NULL,
    place TEXT COLLATE "C" NOT NULL,
    role TEXT COLLATE "C" NOT NULL,
    starts BIGINT NOT NULL,
    ends BIGINT NOT NULL,
    PRIMARY KEY (id)
);
CREATE INDEX IF NOT EXISTS people_assignments_by_account ON people_assignments (account, ends);
CREATE INDEX IF NOT EXISTS people_assignments_by_end ON people_assignments (ends);

-- Failed sign-ins, by a keyed hash of name or address.
CREATE TABLE IF NOT EXISTS people_attempts (
    mark BYTEA NOT NULL,
    failures BIGINT NOT NULL,
    latest BIGINT NOT NULL,
    PRIMARY KEY (mark)
);
CREATE INDEX IF NOT EXISTS people_attempts_by_time ON people_attempts (latest);

-- Changes of access, numbered in commit order for the servers that poll them.
CREATE TABLE IF NOT EXISTS people_changes (
    number BIGINT NOT NULL,
    account TEXT COLLATE "C" NOT NULL,
    session TEXT COLLATE "C" NOT NULL,
    what TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (number)
);

-- secret, pending: encrypted; empty: no second factor, no enrolment in progress.
-- step: TOTP step of the last accepted code.
CREATE TABLE IF NOT EXISTS people_codes (
    account TEXT COLLATE "C" NOT NULL,
    secret BYTEA NOT NULL,
    pending BYTEA NOT NULL,
    step BIGINT NOT NULL,
    PRIMARY KEY (account)
);

-- Security events are append-only. The database enforces it, in case the program has a defect.
CREATE TABLE IF NOT EXISTS people_events (
    number BIGINT NOT NULL,
    at BIGINT NOT NULL,
    kind TEXT COLLATE "C" NOT NULL,
    account TEXT COLLATE "C" NOT NULL,
    actor TEXT COLLATE "C" NOT NULL,
    source TEXT COLLATE "C" NOT NULL,
    detail TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (number)
);
CREATE OR REPLACE FUNCTION people_events_stay() RETURNS trigger LANGUAGE plpgsql AS
' BEGIN RAISE EXCEPTION ''security events are only added''; END ';
DROP TRIGGER IF EXISTS people_events_stay ON people_events;
CREATE TRIGGER people_events_stay BEFORE UPDATE OR DELETE OR TRUNCATE ON people_events
    FOR EACH STATEMENT EXECUTE FUNCTION people_events_stay();

CREATE TABLE IF NOT EXISTS people_meta (
    name TEXT COLLATE "C" NOT NULL,
    value TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (name)
);

-- Recovery codes, by a keyed hash.
CREATE TABLE IF NOT EXISTS people_recovery (
    account TEXT COLLATE "C" NOT NULL,
    mark BYTEA NOT NULL,
    PRIMARY KEY (account, mark)
);

-- Requests that need a second person.
CREATE TABLE IF NOT EXISTS people_requests (
    id TEXT COLLATE "C" NOT NULL,
    account TEXT COLLATE "C" NOT NULL,
    place TEXT COLLATE "C" NOT NULL,
    command BYTEA NOT NULL,
    command_hash BYTEA NOT NULL,
    reason TEXT COLLATE "C" NOT NULL,
    roles TEXT COLLATE "C" NOT NULL,
    opened BIGINT NOT NULL,
    expires BIGINT NOT NULL,
    state TEXT COLLATE "C" NOT NULL,
    decided_by TEXT COLLATE "C" NOT NULL,
    decided BIGINT NOT NULL,
    note TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (id)
);
CREATE INDEX IF NOT EXISTS people_requests_by_state ON people_requests (state, expires);

CREATE TABLE IF NOT EXISTS people_sessions (
    id TEXT COLLATE "C" NOT NULL,
    digest BYTEA NOT NULL,
    account TEXT COLLATE "C" NOT NULL,
    created BIGINT NOT NULL,
    seen BIGINT NOT NULL,
    ends BIGINT NOT NULL,
    locked INTEGER NOT NULL,
    PRIMARY KEY (id)
);
CREATE INDEX IF NOT EXISTS people_sessions_by_account ON people_sessions (account);
CREATE UNIQUE INDEX IF NOT EXISTS people_sessions_by_digest ON people_sessions (digest);

-- expires: 0: never. used: rounded down to the hour; 0: never.
CREATE TABLE IF NOT EXISTS people_tokens (
    id TEXT COLLATE "C" NOT NULL,
    digest BYTEA NOT NULL,
    prefix TEXT COLLATE "C" NOT NULL,
    account TEXT COLLATE "C" NOT NULL,
    name TEXT COLLATE "C" NOT NULL,
    scopes TEXT COLLATE "C" NOT NULL,
    created BIGINT NOT NULL,
    expires BIGINT NOT NULL,
    used BIGINT NOT NULL,
    PRIMARY KEY (id)
);
CREATE INDEX IF NOT EXISTS people_tokens_by_account ON people_tokens (account);
CREATE UNIQUE INDEX IF NOT EXISTS people_tokens_by_digest ON people_tokens (digest);

INSERT INTO meta (name, value) VALUES ('program', 'threedice') ON CONFLICT DO NOTHING;
INSERT INTO meta (name, value) VALUES ('schema', '1') ON CONFLICT DO NOTHING;
INSERT INTO people_meta (name, value) VALUES ('schema', '1') ON CONFLICT DO NOTHING;
