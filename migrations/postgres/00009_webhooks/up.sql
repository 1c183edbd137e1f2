-- Webhooks: subscriptions, their event types, and deliveries.

CREATE TABLE webhook_subscriptions (
    tenant_id TEXT NOT NULL,
    id TEXT COLLATE "C" NOT NULL,
    name TEXT NOT NULL,
    url TEXT NOT NULL,
    event_filters JSON NOT NULL,
    enabled BOOLEAN NOT NULL,
    disabled_reason TEXT,
    -- Key IDs, salts and hashes from which signing secrets are derived and checked.
    secrets JSON NOT NULL,
    created_at TIMESTAMP NOT NULL,
    updated_at TIMESTAMP NOT NULL,
    -- Set when removed; a worker then deletes its deliveries.
    is_deleted BOOLEAN NOT NULL,
    -- Number of event types that existed when its routes were written.
    routed BIGINT NOT NULL,
    PRIMARY KEY (tenant_id, id)
);

-- Expanded filters: which subscription receives which event type.
CREATE TABLE webhook_routes (
    tenant_id TEXT NOT NULL,
    event_type TEXT NOT NULL,
    subscription_id TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (tenant_id, event_type, subscription_id)
);
CREATE INDEX webhook_routes_type ON webhook_routes (event_type, tenant_id);

-- Lease of the instance that delivers to a subscription, next retry, and start of a series of failures.
CREATE TABLE webhook_queues (
    tenant_id TEXT NOT NULL,
    subscription_id TEXT COLLATE "C" NOT NULL,
    lease_owner TEXT NOT NULL,
    lease_until TIMESTAMP NOT NULL,
    next_retry TIMESTAMP,
    failing_since TIMESTAMP,
    PRIMARY KEY (tenant_id, subscription_id)
);
CREATE INDEX webhook_queues_retry ON webhook_queues (next_retry, tenant_id, subscription_id) WHERE next_retry IS NOT NULL;

-- Attempts. Pending while `due_at` is set; later, a 2xx `http_status` means success. The payload is built from the audit
-- entry, or stored in `payload` if there is no entry.
CREATE TABLE webhook_deliveries (
    tenant_id TEXT NOT NULL,
    subscription_id TEXT COLLATE "C" NOT NULL,
    id TEXT COLLATE "C" NOT NULL,
    event_id TEXT COLLATE "C" NOT NULL,
    event_type TEXT NOT NULL,
    payload TEXT,
    attempt BIGINT NOT NULL,
    -- A first attempt, or one that a user requested.
    is_fresh BOOLEAN NOT NULL,
    due_at TIMESTAMP,
    http_status BIGINT,
    error TEXT,
    duration_ms BIGINT,
    response_body BYTEA,
    attempted_at TIMESTAMP,
    next_id TEXT COLLATE "C",
    next_at TIMESTAMP,
    PRIMARY KEY (tenant_id, subscription_id, id)
);
CREATE INDEX webhook_deliveries_fresh ON webhook_deliveries (tenant_id, subscription_id, due_at, id)
    WHERE is_fresh AND due_at IS NOT NULL;
CREATE INDEX webhook_deliveries_retries ON webhook_deliveries (tenant_id, subscription_id, due_at, id)
    WHERE NOT is_fresh AND due_at IS NOT NULL;

-- Outcomes of attempts per hour.
CREATE TABLE webhook_hours (
    tenant_id TEXT NOT NULL,
    subscription_id TEXT COLLATE "C" NOT NULL,
    hour TIMESTAMP NOT NULL,
    succeeded BIGINT NOT NULL,
    failed BIGINT NOT NULL,
    PRIMARY KEY (tenant_id, subscription_id, hour)
);

-- Size and time of the last checkpoint that webhooks received.
ALTER TABLE audit_logs ADD COLUMN published_size BIGINT NOT NULL DEFAULT 0;
ALTER TABLE audit_logs ADD COLUMN published_at TIMESTAMP;
