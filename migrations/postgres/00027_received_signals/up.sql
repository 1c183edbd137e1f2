-- Shared signals from other services: whose events are accepted, and which were received.
CREATE TABLE signal_transmitters (
    tenant_id TEXT NOT NULL,
    id TEXT COLLATE "C" NOT NULL,
    name TEXT NOT NULL,
    issuer TEXT NOT NULL,
    audience TEXT NOT NULL,
    connection_id TEXT NOT NULL,
    -- URL of the key set. NULL: the configuration of the issuer names it.
    jwks_uri TEXT,
    consequences JSON NOT NULL,
    enabled BOOLEAN NOT NULL,
    -- SHA-256 of the token of its requests. NULL: the header Authorization is not checked.
    hash BYTEA,
    keys JSON NOT NULL,
    state JSON NOT NULL,
    created_at TIMESTAMP NOT NULL,
    updated_at TIMESTAMP NOT NULL,
    PRIMARY KEY (tenant_id, id)
);

CREATE TABLE received_signals (
    tenant_id TEXT NOT NULL,
    transmitter_id TEXT COLLATE "C" NOT NULL,
    -- SHA-256 of the ID of the token.
    token_hash BYTEA NOT NULL,
    -- SHA-256 of the state and subject that the event is about. NULL: no later event replaces it.
    state_key BYTEA,
    occurred_at TIMESTAMP NOT NULL,
    expires_at TIMESTAMP NOT NULL,
    PRIMARY KEY (tenant_id, transmitter_id, token_hash)
);
CREATE INDEX received_signals_expires ON received_signals (expires_at);
CREATE INDEX received_signals_state ON received_signals (tenant_id, transmitter_id, state_key, occurred_at)
    WHERE state_key IS NOT NULL;
