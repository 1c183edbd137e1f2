DROP INDEX webhook_queues_failing;
ALTER TABLE webhook_queues DROP COLUMN notified_at;
