-- Webhooks that receive the events of a subject one after the other. Only their deliveries have a subject.
ALTER TABLE webhook_subscriptions ADD COLUMN ordered BOOLEAN NOT NULL DEFAULT FALSE;
ALTER TABLE webhook_routes ADD COLUMN ordered BOOLEAN NOT NULL DEFAULT FALSE;
ALTER TABLE webhook_deliveries ADD COLUMN subject TEXT COLLATE "C";
CREATE INDEX webhook_deliveries_subject ON webhook_deliveries (tenant_id, subscription_id, subject, event_id)
    WHERE subject IS NOT NULL AND due_at IS NOT NULL;
