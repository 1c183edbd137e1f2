-- Webhooks: who is told of what, and what is delivered.

CREATE TABLE webhook_subscriptions (
    tenant_id TEXT NOT NULL,
    id TEXT NOT NULL,
    name TEXT NOT NULL,
    url TEXT NOT NULL,
    event_filters JSON NOT NULL,
    enabled BOOLEAN NOT NULL,
    disabled_reason TEXT,
    -- What is needed to derive what signs: keys' names, salts and hashes.
    secrets JSON NOT NULL,
    created_at TIMESTAMP NOT NULL,
    updated_at TIMESTAMP NOT NULL,
    -- Removed: its deliveries are being taken away.
    is_deleted BOOLEAN NOT NULL,
    -- Types of events there were when its routes were made.
    routed BIGINT NOT NULL,
    PRIMARY KEY (tenant_id, id)
) WITHOUT ROWID;

-- Filters spelled out: which subscriptions are told of which type of event.
CREATE TABLE webhook_routes (
    tenant_id TEXT NOT NULL,
    event_type TEXT NOT NULL,
    subscription_id TEXT NOT NULL,
    PRIMARY KEY (tenant_id, event_type, subscription_id)
) WITHOUT ROWID;
CREATE INDEX webhook_routes_type ON webhook_routes (event_type, tenant_id);

-- Who delivers to a subscription, when the next retry is due, and since when nothing has succeeded.
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

-- Attempts. One is pending while `due_at` is set; then it has succeeded if `http_status` is 2xx. What is sent is in the ledger, or else in `payload`.
CREATE TABLE webhook_deliveries (
    tenant_id TEXT NOT NULL,
    subscription_id TEXT NOT NULL,
    id TEXT NOT NULL,
    event_id TEXT NOT NULL,
    event_type TEXT NOT NULL,
    payload TEXT,
    attempt BIGINT NOT NULL,
    -- A first attempt, or one that was asked for.
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

-- What came of attempts, by the hour.
CREATE TABLE webhook_hours (
    tenant_id TEXT NOT NULL,
    subscription_id TEXT NOT NULL,
    hour TIMESTAMP NOT NULL,
    succeeded BIGINT NOT NULL,
    failed BIGINT NOT NULL,
    PRIMARY KEY (tenant_id, subscription_id, hour)
) WITHOUT ROWID;

-- Up to which size a log's checkpoints were told, and when.
ALTER TABLE audit_logs ADD COLUMN published_size BIGINT NOT NULL DEFAULT 0;
ALTER TABLE audit_logs ADD COLUMN published_at TIMESTAMP;

-- What the planner is to expect (see 00002).
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
