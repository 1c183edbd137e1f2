-- Webhooks that receive the events of a subject one after the other. Only their deliveries have a subject.
ALTER TABLE webhook_subscriptions ADD COLUMN ordered BOOLEAN NOT NULL DEFAULT FALSE;
ALTER TABLE webhook_routes ADD COLUMN ordered BOOLEAN NOT NULL DEFAULT FALSE;
ALTER TABLE webhook_deliveries ADD COLUMN subject TEXT;
CREATE INDEX webhook_deliveries_subject ON webhook_deliveries (tenant_id, subscription_id, subject, event_id)
    WHERE subject IS NOT NULL AND due_at IS NOT NULL;

-- Statistics for the query planner (see 00002).
INSERT INTO sqlite_stat1 (tbl, idx, stat) VALUES
    ('webhook_deliveries', 'webhook_deliveries_subject', '10000 1000 100 2 1');
ANALYZE sqlite_schema;
