ALTER TABLE audit_logs DROP COLUMN published_at;
ALTER TABLE audit_logs DROP COLUMN published_size;
DROP TABLE webhook_hours;
DROP TABLE webhook_deliveries;
DROP TABLE webhook_queues;
DROP TABLE webhook_routes;
DROP TABLE webhook_subscriptions;
