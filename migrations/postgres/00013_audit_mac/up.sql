-- MACs of audit entries, and signed statements about audit logs.

-- The id of the master key, and 32 bytes. Entries of versions before have none.
ALTER TABLE audit_entries ADD COLUMN mac_key TEXT;
ALTER TABLE audit_entries ADD COLUMN mac BYTEA;

-- From which place on entries have a MAC: a signed note.
ALTER TABLE audit_logs ADD COLUMN mac_start TEXT;

-- Signed notes about removals (by the first place that stays) and about retention (numbered from 0).
CREATE TABLE audit_statements (
    tenant_id TEXT NOT NULL,
    kind TEXT NOT NULL,
    number BIGINT NOT NULL,
    created_at TIMESTAMP NOT NULL,
    note TEXT NOT NULL,
    PRIMARY KEY (tenant_id, kind, number)
);
