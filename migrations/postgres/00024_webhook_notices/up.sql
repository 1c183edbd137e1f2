-- When administrators were last notified that a webhook fails.
ALTER TABLE webhook_queues ADD COLUMN notified_at TIMESTAMP;
CREATE INDEX webhook_queues_failing ON webhook_queues (tenant_id, subscription_id) WHERE failing_since IS NOT NULL;
