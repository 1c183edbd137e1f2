-- When administrators were last notified that a webhook fails.
ALTER TABLE webhook_queues ADD COLUMN notified_at TIMESTAMP;
CREATE INDEX webhook_queues_failing ON webhook_queues (tenant_id, subscription_id) WHERE failing_since IS NOT NULL;

-- Statistics for the query planner (see 00002).
INSERT INTO sqlite_stat1 (tbl, idx, stat) VALUES
    ('webhook_queues', 'webhook_queues_failing', '100 2 1');
ANALYZE sqlite_schema;
