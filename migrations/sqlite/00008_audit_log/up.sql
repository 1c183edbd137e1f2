-- The transparency log: the queue of unsealed entries, the index of sealed entries, and the hashes of the Merkle tree.

-- Commitment to an address that was erased.
ALTER TABLE audit_entries ADD COLUMN ip_commitment BLOB;

-- Retention of audit entries in days. NULL: forever.
ALTER TABLE tenants ADD COLUMN audit_days BIGINT CHECK (audit_days BETWEEN 1 AND 36500);

-- Entries that are not sealed yet.
CREATE TABLE audit_unsealed (
    tenant_id TEXT NOT NULL,
    entry_id TEXT NOT NULL,
    PRIMARY KEY (tenant_id, entry_id)
) WITHOUT ROWID;
INSERT INTO audit_unsealed SELECT tenant_id, id FROM audit_entries;

-- Index of each sealed entry in its tenant's log: from 0, without gaps.
CREATE TABLE audit_sealed (
    tenant_id TEXT NOT NULL,
    sequence BIGINT NOT NULL CHECK (sequence >= 0 AND sequence < 9223372036854775807),
    entry_id TEXT NOT NULL,
    leaf BLOB NOT NULL,
    PRIMARY KEY (tenant_id, sequence)
) WITHOUT ROWID;
CREATE UNIQUE INDEX audit_sealed_entry ON audit_sealed (tenant_id, entry_id);

-- Hashes of complete subtrees: of 256 leaves (level 1), of 256 level-1 subtrees (level 2), and so on.
CREATE TABLE audit_subtrees (
    tenant_id TEXT NOT NULL,
    level BIGINT NOT NULL,
    number BIGINT NOT NULL,
    hash BLOB NOT NULL,
    PRIMARY KEY (tenant_id, level, number)
) WITHOUT ROWID;

-- Size of each log, and the lease of the instance that seals it.
CREATE TABLE audit_logs (
    tenant_id TEXT PRIMARY KEY,
    size BIGINT NOT NULL,
    frontier BLOB NOT NULL,
    lease_owner TEXT NOT NULL,
    lease_until TIMESTAMP NOT NULL
) WITHOUT ROWID;

-- Checkpoints as signed notes, one per sealing.
CREATE TABLE audit_checkpoints (
    tenant_id TEXT NOT NULL,
    size BIGINT NOT NULL,
    created_at TIMESTAMP NOT NULL,
    note TEXT NOT NULL,
    PRIMARY KEY (tenant_id, size)
) WITHOUT ROWID;

-- Entries before this index were purged after their retention.
CREATE TABLE audit_drops (
    tenant_id TEXT NOT NULL,
    before_sequence BIGINT NOT NULL,
    created_at TIMESTAMP NOT NULL,
    PRIMARY KEY (tenant_id, before_sequence)
) WITHOUT ROWID;

-- Append-only. Three changes are allowed: erasing an address while its commitment stays, removing an entry from the queue
-- after it was sealed, and purging entries after a signed statement.
CREATE TRIGGER audit_entries_stay BEFORE DELETE ON audit_entries
WHEN NOT EXISTS (
    SELECT 1 FROM audit_sealed JOIN audit_drops
        ON audit_drops.tenant_id = audit_sealed.tenant_id AND audit_drops.before_sequence > audit_sealed.sequence
    WHERE audit_sealed.tenant_id = OLD.tenant_id AND audit_sealed.entry_id = OLD.id
)
BEGIN SELECT RAISE(ABORT, 'entries of the audit log are not deleted'); END;

CREATE TRIGGER audit_entries_stay_as_they_are BEFORE UPDATE ON audit_entries
WHEN NOT (
    NEW.ip IS NULL AND NEW.salt IS NULL AND NEW.ip_commitment IS NOT NULL AND OLD.ip IS NOT NULL
    AND (NEW.tenant_id, NEW.id, NEW.created_at, NEW.actor_type, NEW.actor_id, NEW.action, NEW.resource_type,
        NEW.resource_id, NEW.metadata, NEW.leaf)
    IS (OLD.tenant_id, OLD.id, OLD.created_at, OLD.actor_type, OLD.actor_id, OLD.action, OLD.resource_type,
        OLD.resource_id, OLD.metadata, OLD.leaf)
)
BEGIN SELECT RAISE(ABORT, 'entries of the audit log are not changed'); END;

CREATE TRIGGER audit_unsealed_wait BEFORE DELETE ON audit_unsealed
WHEN NOT EXISTS (
    SELECT 1 FROM audit_sealed WHERE tenant_id = OLD.tenant_id AND entry_id = OLD.entry_id
)
BEGIN SELECT RAISE(ABORT, 'entries of the audit log wait for their place'); END;

CREATE TRIGGER audit_sealed_stay BEFORE DELETE ON audit_sealed
WHEN NOT EXISTS (
    SELECT 1 FROM audit_drops WHERE tenant_id = OLD.tenant_id AND before_sequence > OLD.sequence
)
BEGIN SELECT RAISE(ABORT, 'places of the audit log are not deleted'); END;

CREATE TRIGGER audit_sealed_stay_as_they_are BEFORE UPDATE ON audit_sealed
BEGIN SELECT RAISE(ABORT, 'places of the audit log are not changed'); END;

CREATE TRIGGER audit_logs_grow BEFORE UPDATE ON audit_logs WHEN NEW.size < OLD.size OR NEW.tenant_id <> OLD.tenant_id
BEGIN SELECT RAISE(ABORT, 'audit logs grow'); END;

CREATE TRIGGER audit_logs_stay BEFORE DELETE ON audit_logs
BEGIN SELECT RAISE(ABORT, 'audit logs are not deleted'); END;

CREATE TRIGGER audit_subtrees_stay BEFORE DELETE ON audit_subtrees
BEGIN SELECT RAISE(ABORT, 'subtrees of the audit log are not deleted'); END;

CREATE TRIGGER audit_subtrees_stay_as_they_are BEFORE UPDATE ON audit_subtrees
BEGIN SELECT RAISE(ABORT, 'subtrees of the audit log are not changed'); END;

CREATE TRIGGER audit_checkpoints_stay BEFORE DELETE ON audit_checkpoints
BEGIN SELECT RAISE(ABORT, 'checkpoints of the audit log are not deleted'); END;

CREATE TRIGGER audit_checkpoints_stay_as_they_are BEFORE UPDATE ON audit_checkpoints
BEGIN SELECT RAISE(ABORT, 'checkpoints of the audit log are not changed'); END;

CREATE TRIGGER audit_drops_stay BEFORE DELETE ON audit_drops
BEGIN SELECT RAISE(ABORT, 'drops of the audit log are not deleted'); END;

CREATE TRIGGER audit_drops_stay_as_they_are BEFORE UPDATE ON audit_drops
BEGIN SELECT RAISE(ABORT, 'drops of the audit log are not changed'); END;

-- REPLACE deletes rows without firing the delete trigger.
CREATE TRIGGER audit_entries_once BEFORE INSERT ON audit_entries
WHEN EXISTS (SELECT 1 FROM audit_entries WHERE tenant_id = NEW.tenant_id AND id = NEW.id)
BEGIN SELECT RAISE(ABORT, 'entries of the audit log are not replaced'); END;
CREATE TRIGGER audit_sealed_once BEFORE INSERT ON audit_sealed
WHEN EXISTS (SELECT 1 FROM audit_sealed WHERE tenant_id = NEW.tenant_id AND (sequence = NEW.sequence OR entry_id = NEW.entry_id))
BEGIN SELECT RAISE(ABORT, 'sealed of the audit log are not replaced'); END;
CREATE TRIGGER audit_subtrees_once BEFORE INSERT ON audit_subtrees
WHEN EXISTS (SELECT 1 FROM audit_subtrees WHERE tenant_id = NEW.tenant_id AND level = NEW.level AND number = NEW.number)
BEGIN SELECT RAISE(ABORT, 'subtrees of the audit log are not replaced'); END;
CREATE TRIGGER audit_logs_once BEFORE INSERT ON audit_logs
WHEN EXISTS (SELECT 1 FROM audit_logs WHERE tenant_id = NEW.tenant_id)
BEGIN SELECT RAISE(ABORT, 'logs of the audit log are not replaced'); END;
CREATE TRIGGER audit_checkpoints_once BEFORE INSERT ON audit_checkpoints
WHEN EXISTS (SELECT 1 FROM audit_checkpoints WHERE tenant_id = NEW.tenant_id AND size = NEW.size)
BEGIN SELECT RAISE(ABORT, 'checkpoints of the audit log are not replaced'); END;
CREATE TRIGGER audit_drops_once BEFORE INSERT ON audit_drops
WHEN EXISTS (SELECT 1 FROM audit_drops WHERE tenant_id = NEW.tenant_id AND before_sequence = NEW.before_sequence)
BEGIN SELECT RAISE(ABORT, 'drops of the audit log are not replaced'); END;

CREATE TRIGGER audit_unsealed_wait_as_they_are BEFORE UPDATE ON audit_unsealed
BEGIN SELECT RAISE(ABORT, 'entries of the audit log wait for their place'); END;

-- Statistics for the query planner (see 00002).
INSERT INTO sqlite_stat1 (tbl, idx, stat) VALUES
    ('audit_unsealed', 'audit_unsealed', '100000 1000 1'),
    ('audit_sealed', 'audit_sealed', '5000000 500000 1'),
    ('audit_sealed', 'audit_sealed_entry', '5000000 500000 1'),
    ('audit_subtrees', 'audit_subtrees', '20000 2000 1900 1'),
    ('audit_logs', 'audit_logs', '10000 1'),
    ('audit_checkpoints', 'audit_checkpoints', '1000000 100000 1'),
    ('audit_drops', 'audit_drops', '1000 10 1');
ANALYZE sqlite_schema;
