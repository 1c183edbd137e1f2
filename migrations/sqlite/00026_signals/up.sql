-- Shared signals: receivers, their streams, and events that wait.
CREATE TABLE signal_receivers (
    tenant_id TEXT NOT NULL,
    id TEXT NOT NULL,
    name TEXT NOT NULL,
    audience TEXT NOT NULL,
    event_types JSON NOT NULL,
    subject_format TEXT NOT NULL,
    enabled BOOLEAN NOT NULL,
    -- SHA-256 of the access token.
    hash BLOB NOT NULL,
    created_at TIMESTAMP NOT NULL,
    updated_at TIMESTAMP NOT NULL,
    last_used_at TIMESTAMP,
    last_used_ip TEXT,
    PRIMARY KEY (tenant_id, id)
) WITHOUT ROWID;
CREATE UNIQUE INDEX signal_receivers_hash ON signal_receivers (tenant_id, hash);

CREATE TABLE signal_streams (
    tenant_id TEXT NOT NULL,
    receiver_id TEXT NOT NULL,
    id TEXT NOT NULL,
    -- Where tokens are posted to. NULL: the receiver polls.
    endpoint_url TEXT,
    -- The encrypted header Authorization of pushes.
    sealed TEXT,
    requested JSON,
    description TEXT,
    status TEXT NOT NULL,
    reason TEXT,
    verified_at TIMESTAMP,
    created_at TIMESTAMP NOT NULL,
    updated_at TIMESTAMP NOT NULL,
    PRIMARY KEY (tenant_id, receiver_id)
) WITHOUT ROWID;

-- How far each stream is.
CREATE TABLE signal_stream_states (
    tenant_id TEXT NOT NULL,
    stream_id TEXT NOT NULL,
    receiver_id TEXT NOT NULL,
    -- Whether tokens are posted.
    pushes BOOLEAN NOT NULL,
    -- Whether events other than those about the stream itself are delivered.
    enabled BOOLEAN NOT NULL,
    due_at TIMESTAMP NOT NULL,
    lease_owner TEXT NOT NULL,
    lease_until TIMESTAMP NOT NULL,
    delivered_at TIMESTAMP,
    failing_since TIMESTAMP,
    problem JSON,
    PRIMARY KEY (tenant_id, stream_id)
) WITHOUT ROWID;
CREATE INDEX signal_stream_states_due ON signal_stream_states (due_at) WHERE pushes;

-- Which streams receive which events about an audit entry. The number is part of the ID of the token.
CREATE TABLE signal_routes (
    tenant_id TEXT NOT NULL,
    audit_code TEXT NOT NULL,
    stream_id TEXT NOT NULL,
    event_type TEXT NOT NULL,
    number TEXT NOT NULL,
    PRIMARY KEY (tenant_id, audit_code, stream_id, event_type)
) WITHOUT ROWID;
CREATE INDEX signal_routes_stream ON signal_routes (tenant_id, stream_id);

CREATE TABLE signal_events (
    tenant_id TEXT NOT NULL,
    stream_id TEXT NOT NULL,
    -- ID of the token.
    jti TEXT NOT NULL,
    -- NULL: about the stream itself.
    entry_id TEXT,
    event_type TEXT NOT NULL,
    -- The user that it is about, empty if it is about none.
    user_id TEXT NOT NULL,
    -- The user's email address before the event, if the event changed or deleted it.
    former_email TEXT,
    -- The email address after an event that changed it.
    new_email TEXT,
    -- The payload of an event about the stream itself.
    control JSON,
    created_at TIMESTAMP NOT NULL,
    PRIMARY KEY (tenant_id, stream_id, jti)
) WITHOUT ROWID;
CREATE INDEX signal_events_created ON signal_events (created_at);
CREATE INDEX signal_events_control ON signal_events (tenant_id, stream_id, jti) WHERE control IS NOT NULL;
CREATE INDEX signal_events_user ON signal_events (tenant_id, user_id);

-- Users that a receiver has removed from its stream.
CREATE TABLE signal_removed_subjects (
    tenant_id TEXT NOT NULL,
    stream_id TEXT NOT NULL,
    user_id TEXT NOT NULL,
    PRIMARY KEY (tenant_id, stream_id, user_id)
) WITHOUT ROWID;

-- Keys that sign tokens.
CREATE TABLE signal_keys (
    tenant_id TEXT NOT NULL,
    id TEXT NOT NULL,
    jwk JSON NOT NULL,
    -- The encrypted private key.
    sealed TEXT NOT NULL,
    created_at TIMESTAMP NOT NULL,
    replaced_at TIMESTAMP,
    PRIMARY KEY (tenant_id, id)
) WITHOUT ROWID;

-- Statistics for the query planner (see 00002).
INSERT INTO sqlite_stat1 (tbl, idx, stat) VALUES
    ('signal_receivers', 'signal_receivers', '1000 2 1'),
    ('signal_receivers', 'signal_receivers_hash', '1000 2 1'),
    ('signal_streams', 'signal_streams', '1000 2 1'),
    ('signal_stream_states', 'signal_stream_states', '1000 2 1'),
    ('signal_stream_states', 'signal_stream_states_due', '1000 2'),
    ('signal_routes', 'signal_routes', '15000 30 2 2 1'),
    ('signal_routes', 'signal_routes_stream', '15000 30 15'),
    ('signal_events', 'signal_events', '100000 200 100 1'),
    ('signal_events', 'signal_events_created', '100000 10'),
    ('signal_events', 'signal_events_control', '1000 4 2 1'),
    ('signal_events', 'signal_events_user', '100000 200 4'),
    ('signal_removed_subjects', 'signal_removed_subjects', '10000 20 10 1'),
    ('signal_keys', 'signal_keys', '1000 2 1');
ANALYZE sqlite_schema;
