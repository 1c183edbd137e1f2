-- The transparency log: the queue of unsealed entries, the index of sealed entries, and the hashes of the Merkle tree.

-- Commitment to an address that was erased.
ALTER TABLE audit_entries ADD COLUMN ip_commitment BYTEA;

-- Retention of audit entries in days. NULL: forever.
ALTER TABLE tenants ADD COLUMN audit_days BIGINT CHECK (audit_days BETWEEN 1 AND 36500);

-- Entries that are not sealed yet.
CREATE TABLE audit_unsealed (
    tenant_id TEXT NOT NULL,
    entry_id TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (tenant_id, entry_id)
);
INSERT INTO audit_unsealed SELECT tenant_id, id FROM audit_entries;

-- Index of each sealed entry in its tenant's log: from 0, without gaps.
CREATE TABLE audit_sealed (
    tenant_id TEXT NOT NULL,
    sequence BIGINT NOT NULL CHECK (sequence >= 0 AND sequence < 9223372036854775807),
    entry_id TEXT COLLATE "C" NOT NULL,
    leaf BYTEA NOT NULL,
    PRIMARY KEY (tenant_id, sequence)
);
CREATE UNIQUE INDEX audit_sealed_entry ON audit_sealed (tenant_id, entry_id);

-- Hashes of complete subtrees: of 256 leaves (level 1), of 256 level-1 subtrees (level 2), and so on.
CREATE TABLE audit_subtrees (
    tenant_id TEXT NOT NULL,
    level BIGINT NOT NULL,
    number BIGINT NOT NULL,
    hash BYTEA NOT NULL,
    PRIMARY KEY (tenant_id, level, number)
);

-- Size of each log, and the lease of the instance that seals it.
CREATE TABLE audit_logs (
    tenant_id TEXT PRIMARY KEY,
    size BIGINT NOT NULL,
    frontier BYTEA NOT NULL,
    lease_owner TEXT NOT NULL,
    lease_until TIMESTAMP NOT NULL
);

-- Checkpoints as signed notes, one per sealing.
CREATE TABLE audit_checkpoints (
    tenant_id TEXT NOT NULL,
    size BIGINT NOT NULL,
    created_at TIMESTAMP NOT NULL,
    note TEXT NOT NULL,
    PRIMARY KEY (tenant_id, size)
);

-- Entries before this index were purged after their retention.
CREATE TABLE audit_drops (
    tenant_id TEXT NOT NULL,
    before_sequence BIGINT NOT NULL,
    created_at TIMESTAMP NOT NULL,
    PRIMARY KEY (tenant_id, before_sequence)
);
