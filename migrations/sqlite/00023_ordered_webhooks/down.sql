DROP INDEX webhook_deliveries_subject;
ALTER TABLE webhook_deliveries DROP COLUMN subject;
ALTER TABLE webhook_routes DROP COLUMN ordered;
ALTER TABLE webhook_subscriptions DROP COLUMN ordered;
