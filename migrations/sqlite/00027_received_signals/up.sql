-- Shared signals from other services: whose events are accepted, and which were received.
CREATE TABLE signal_transmitters (
    tenant_id TEXT NOT NULL,
    id TEXT NOT NULL,
    name TEXT NOT NULL,
    issuer TEXT NOT NULL,
    audience TEXT NOT NULL,
    connection_id TEXT NOT NULL,
    -- URL of the key set. NULL: the configuration of the issuer names it.
    jwks_uri TEXT,
    consequences JSON NOT NULL,
    enabled BOOLEAN NOT NULL,
    -- SHA-256 of the token of its requests. NULL: the header Authorization is not checked.
    hash BLOB,
    keys JSON NOT NULL,
    state JSON NOT NULL,
    created_at TIMESTAMP NOT NULL,
    updated_at TIMESTAMP NOT NULL,
    PRIMARY KEY (tenant_id, id)
) WITHOUT ROWID;

CREATE TABLE received_signals (
    tenant_id TEXT NOT NULL,
    transmitter_id TEXT NOT NULL,
    -- SHA-256 of the ID of the token.
    token_hash BLOB NOT NULL,
    -- SHA-256 of the state and subject that the event is about. NULL: no later event replaces it.
    state_key BLOB,
    occurred_at TIMESTAMP NOT NULL,
    expires_at TIMESTAMP NOT NULL,
    PRIMARY KEY (tenant_id, transmitter_id, token_hash)
) WITHOUT ROWID;
CREATE INDEX received_signals_expires ON received_signals (expires_at);
CREATE INDEX received_signals_state ON received_signals (tenant_id, transmitter_id, state_key, occurred_at)
    WHERE state_key IS NOT NULL;

-- Statistics for the query planner (see 00002).
INSERT INTO sqlite_stat1 (tbl, idx, stat) VALUES
    ('signal_transmitters', 'signal_transmitters', '1000 2 1'),
    ('received_signals', 'received_signals', '100000 200 100 1'),
    ('received_signals', 'received_signals_expires', '100000 10'),
    ('received_signals', 'received_signals_state', '20000 40 20 4 1');
ANALYZE sqlite_schema;
