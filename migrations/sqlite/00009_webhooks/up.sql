-- Webhooks: subscriptions, their event types, and deliveries.

CREATE TABLE webhook_subscriptions (
    tenant_id TEXT NOT NULL,
    id TEXT NOT NULL,
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
) WITHOUT ROWID;

-- Expanded filters: which subscription receives which event type.
CREATE TABLE webhook_routes (
    tenant_id TEXT NOT NULL,
    event_type TEXT NOT NULL,
    subscription_id TEXT NOT NULL,
    PRIMARY KEY (tenant_id, event_type, subscription_id)
) WITHOUT ROWID;
CREATE INDEX webhook_routes_type ON webhook_routes (event_type, tenant_id);

-- Lease of the instance that delivers to a subscription, next retry, and start of a series of failures.
CREATE TABLE webhook_queues (
    tenant_id TEXT NOT NULL,
    subscription_id TEXT NOT NULL,
    lease_owner TEXT NOT NULL,
    lease_until TIMESTAMP NOT NULL,
    next_retry TIMESTAMP,
    failing_since TIMESTAMP,
    PRIMARY KEY (tenant_id, subscription_id)
) WITHOUT ROWID;
CREATE INDEX webhook_queues_retry ON webhook_queues (next_retry, tenant_id, subscription_id) WHERE next_retry IS NOT NULL;

-- Attempts. Pending while `due_at` is set; later, a 2xx `http_status` means success. The payload is built from the audit
-- entry, or stored in `payload` if there is no entry.
CREATE TABLE webhook_deliveries (
    tenant_id TEXT NOT NULL,
    subscription_id TEXT NOT NULL,
    id TEXT NOT NULL,
    event_id TEXT NOT NULL,
    event_type TEXT NOT NULL,
    payload TEXT,
    attempt BIGINT NOT NULL,
    -- A first attempt, or one that a user requested.
    is_fresh BOOLEAN NOT NULL,
    due_at TIMESTAMP,
    http_status BIGINT,
    error TEXT,
    duration_ms BIGINT,
    response_body BLOB,
    attempted_at TIMESTAMP,
    next_id TEXT,
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
    subscription_id TEXT NOT NULL,
    hour TIMESTAMP NOT NULL,
    succeeded BIGINT NOT NULL,
    failed BIGINT NOT NULL,
    PRIMARY KEY (tenant_id, subscription_id, hour)
) WITHOUT ROWID;

-- Size and time of the last checkpoint that webhooks received.
ALTER TABLE audit_logs ADD COLUMN published_size BIGINT NOT NULL DEFAULT 0;
ALTER TABLE audit_logs ADD COLUMN published_at TIMESTAMP;

-- Statistics for the query planner (see 00002).
INSERT INTO sqlite_stat1 (tbl, idx, stat) VALUES
    ('webhook_subscriptions', 'webhook_subscriptions', '10000 10 1'),
    ('webhook_routes', 'webhook_routes', '500000 500 10 1'),
    ('webhook_routes', 'webhook_routes_type', '500000 10000 10 1'),
    ('webhook_queues', 'webhook_queues', '10000 10 1'),
    ('webhook_queues', 'webhook_queues_retry', '1000 1 1 1'),
    ('webhook_deliveries', 'sqlite_autoindex_webhook_deliveries_1', '5000000 50000 5000 1'),
    ('webhook_deliveries', 'webhook_deliveries_fresh', '10000 1000 100 1 1'),
    ('webhook_deliveries', 'webhook_deliveries_retries', '10000 1000 100 1 1'),
    ('webhook_hours', 'webhook_hours', '1000000 10000 1000 1');
ANALYZE sqlite_schema;
