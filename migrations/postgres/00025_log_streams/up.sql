-- Streams of audit logs to SIEM systems.
CREATE TABLE log_streams (
    tenant_id TEXT NOT NULL,
    id TEXT COLLATE "C" NOT NULL,
    name TEXT NOT NULL,
    destination JSON NOT NULL,
    -- The encrypted secret.
    sealed TEXT,
    event_filters JSON NOT NULL,
    created_at TIMESTAMP NOT NULL,
    updated_at TIMESTAMP NOT NULL,
    PRIMARY KEY (tenant_id, id)
);

-- How far each stream is. Positions are those of the log: the next entry to send, where the next range begins, and where the
-- last range that was sent began.
CREATE TABLE log_stream_states (
    tenant_id TEXT NOT NULL,
    stream_id TEXT COLLATE "C" NOT NULL,
    enabled BOOLEAN NOT NULL,
    position BIGINT NOT NULL,
    range_from BIGINT NOT NULL,
    last_from BIGINT NOT NULL,
    due_at TIMESTAMP NOT NULL,
    lease_owner TEXT NOT NULL,
    lease_until TIMESTAMP NOT NULL,
    delivered_at TIMESTAMP,
    failing_since TIMESTAMP,
    problem JSON,
    notified_at TIMESTAMP,
    PRIMARY KEY (tenant_id, stream_id)
);
CREATE INDEX log_stream_states_due ON log_stream_states (due_at) WHERE enabled;
