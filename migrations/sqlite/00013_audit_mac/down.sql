DROP TABLE audit_statements;
DELETE FROM sqlite_stat1 WHERE tbl = 'audit_statements';
ANALYZE sqlite_schema;
DROP TRIGGER audit_entries_stay_as_they_are;
ALTER TABLE audit_logs DROP COLUMN mac_start;
ALTER TABLE audit_entries DROP COLUMN mac;
ALTER TABLE audit_entries DROP COLUMN mac_key;
CREATE TRIGGER audit_entries_stay_as_they_are BEFORE UPDATE ON audit_entries
WHEN NOT (
    NEW.ip IS NULL AND NEW.salt IS NULL AND NEW.ip_commitment IS NOT NULL AND OLD.ip IS NOT NULL
    AND (NEW.tenant_id, NEW.id, NEW.created_at, NEW.actor_type, NEW.actor_id, NEW.action, NEW.resource_type,
        NEW.resource_id, NEW.metadata, NEW.leaf)
    IS (OLD.tenant_id, OLD.id, OLD.created_at, OLD.actor_type, OLD.actor_id, OLD.action, OLD.resource_type,
        OLD.resource_id, OLD.metadata, OLD.leaf)
)
BEGIN SELECT RAISE(ABORT, 'entries of the audit log are not changed'); END;
