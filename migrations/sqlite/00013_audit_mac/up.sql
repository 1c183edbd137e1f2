-- MACs of audit entries, and signed statements about audit logs.

-- ID of the master key, then 32 bytes. NULL in entries of earlier versions.
ALTER TABLE audit_entries ADD COLUMN mac_key TEXT;
ALTER TABLE audit_entries ADD COLUMN mac BLOB;

-- Signed note with the index from which on entries have a MAC.
ALTER TABLE audit_logs ADD COLUMN mac_start TEXT;

-- Signed notes about purges (by the first index that is kept) and about retention (numbered from 0).
CREATE TABLE audit_statements (
    tenant_id TEXT NOT NULL,
    kind TEXT NOT NULL,
    number BIGINT NOT NULL,
    created_at TIMESTAMP NOT NULL,
    note TEXT NOT NULL,
    PRIMARY KEY (tenant_id, kind, number)
) WITHOUT ROWID;

-- Append-only, as in 00008: MACs and statements stay as they are.
DROP TRIGGER audit_entries_stay_as_they_are;
CREATE TRIGGER audit_entries_stay_as_they_are BEFORE UPDATE ON audit_entries
WHEN NOT (
    NEW.ip IS NULL AND NEW.salt IS NULL AND NEW.ip_commitment IS NOT NULL AND OLD.ip IS NOT NULL
    AND (NEW.tenant_id, NEW.id, NEW.created_at, NEW.actor_type, NEW.actor_id, NEW.action, NEW.resource_type,
        NEW.resource_id, NEW.metadata, NEW.leaf, NEW.mac_key, NEW.mac)
    IS (OLD.tenant_id, OLD.id, OLD.created_at, OLD.actor_type, OLD.actor_id, OLD.action, OLD.resource_type,
        OLD.resource_id, OLD.metadata, OLD.leaf, OLD.mac_key, OLD.mac)
)
BEGIN SELECT RAISE(ABORT, 'entries of the audit log are not changed'); END;

CREATE TRIGGER audit_statements_stay BEFORE DELETE ON audit_statements
BEGIN SELECT RAISE(ABORT, 'statements of the audit log are not deleted'); END;
CREATE TRIGGER audit_statements_stay_as_they_are BEFORE UPDATE ON audit_statements
BEGIN SELECT RAISE(ABORT, 'statements of the audit log are not changed'); END;
-- REPLACE deletes rows without firing the delete trigger.
CREATE TRIGGER audit_statements_once BEFORE INSERT ON audit_statements
WHEN EXISTS (SELECT 1 FROM audit_statements WHERE tenant_id = NEW.tenant_id AND kind = NEW.kind AND number = NEW.number)
BEGIN SELECT RAISE(ABORT, 'statements of the audit log are not replaced'); END;

-- Statistics for the query planner (see 00002).
INSERT INTO sqlite_stat1 (tbl, idx, stat) VALUES ('audit_statements', 'audit_statements', '1000 10 5 1');
ANALYZE sqlite_schema;
