-- MACs of audit entries, and signed statements about audit logs.

-- ID of the master key, then 32 bytes. NULL in entries of earlier versions.
ALTER TABLE audit_entries ADD COLUMN mac_key TEXT;
ALTER TABLE audit_entries ADD COLUMN mac BYTEA;

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
);
