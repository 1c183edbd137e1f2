-- Shared signals: receivers, their streams, and events that wait.
CREATE TABLE signal_receivers (
    tenant_id TEXT NOT NULL,
    id TEXT COLLATE "C" NOT NULL,
    name TEXT NOT NULL,
    audience TEXT NOT NULL,
    event_types JSON NOT NULL,
    subject_format TEXT NOT NULL,
    enabled BOOLEAN NOT NULL,
    -- SHA-256 of the access token.
    hash BYTEA NOT NULL,
    created_at TIMESTAMP NOT NULL,
    updated_at TIMESTAMP NOT NULL,
    last_used_at TIMESTAMP,
    last_used_ip TEXT,
    PRIMARY KEY (tenant_id, id)
);
CREATE UNIQUE INDEX signal_receivers_hash ON signal_receivers (tenant_id, hash);

CREATE TABLE signal_streams (
    tenant_id TEXT NOT NULL,
    receiver_id TEXT COLLATE "C" NOT NULL,
    id TEXT COLLATE "C" NOT NULL,
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
);

-- How far each stream is.
CREATE TABLE signal_stream_states (
    tenant_id TEXT NOT NULL,
    stream_id TEXT COLLATE "C" NOT NULL,
    receiver_id TEXT COLLATE "C" NOT NULL,
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
);
CREATE INDEX signal_stream_states_due ON signal_stream_states (due_at) WHERE pushes;

-- Which streams receive which events about an audit entry. The number is part of the ID of the token.
CREATE TABLE signal_routes (
    tenant_id TEXT NOT NULL,
    audit_code TEXT COLLATE "C" NOT NULL,
    stream_id TEXT COLLATE "C" NOT NULL,
    event_type TEXT COLLATE "C" NOT NULL,
    number TEXT NOT NULL,
    PRIMARY KEY (tenant_id, audit_code, stream_id, event_type)
);
CREATE INDEX signal_routes_stream ON signal_routes (tenant_id, stream_id);

CREATE TABLE signal_events (
    tenant_id TEXT NOT NULL,
    stream_id TEXT COLLATE "C" NOT NULL,
    -- ID of the token.
    jti TEXT COLLATE "C" NOT NULL,
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
);
CREATE INDEX signal_events_created ON signal_events (created_at);
CREATE INDEX signal_events_control ON signal_events (tenant_id, stream_id, jti) WHERE control IS NOT NULL;
CREATE INDEX signal_events_user ON signal_events (tenant_id, user_id);

-- Users that a receiver has removed from its stream.
CREATE TABLE signal_removed_subjects (
    tenant_id TEXT NOT NULL,
    stream_id TEXT COLLATE "C" NOT NULL,
    user_id TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (tenant_id, stream_id, user_id)
);

-- Keys that sign tokens.
CREATE TABLE signal_keys (
    tenant_id TEXT NOT NULL,
    id TEXT COLLATE "C" NOT NULL,
    jwk JSON NOT NULL,
    -- The encrypted private key.
    sealed TEXT NOT NULL,
    created_at TIMESTAMP NOT NULL,
    replaced_at TIMESTAMP,
    PRIMARY KEY (tenant_id, id)
);
