-- The tamper-evident log: entries wait for their place, get it, and the hashes of their tree are kept.

-- What an erased address was committed to.
ALTER TABLE audit_entries ADD COLUMN ip_commitment BYTEA;

-- Days that a tenant's entries are kept; for ever without.
ALTER TABLE tenants ADD COLUMN audit_days BIGINT CHECK (audit_days BETWEEN 1 AND 36500);

-- Entries that have no place yet.
CREATE TABLE audit_unsealed (
    tenant_id TEXT NOT NULL,
    entry_id TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (tenant_id, entry_id)
);
INSERT INTO audit_unsealed SELECT tenant_id, id FROM audit_entries;

-- Their places: from 0 in each tenant, without gaps.
CREATE TABLE audit_sealed (
    tenant_id TEXT NOT NULL,
    sequence BIGINT NOT NULL CHECK (sequence >= 0 AND sequence < 9223372036854775807),
    entry_id TEXT COLLATE "C" NOT NULL,
    leaf BYTEA NOT NULL,
    PRIMARY KEY (tenant_id, sequence)
);
CREATE UNIQUE INDEX audit_sealed_entry ON audit_sealed (tenant_id, entry_id);

-- Hashes of complete subtrees of 256 leaves (level 1), of 256 of these (level 2), and so on.
CREATE TABLE audit_subtrees (
    tenant_id TEXT NOT NULL,
    level BIGINT NOT NULL,
    number BIGINT NOT NULL,
    hash BYTEA NOT NULL,
    PRIMARY KEY (tenant_id, level, number)
);

-- How far each log is, and who goes on with it.
CREATE TABLE audit_logs (
    tenant_id TEXT PRIMARY KEY,
    size BIGINT NOT NULL,
    frontier BYTEA NOT NULL,
    lease_owner TEXT NOT NULL,
    lease_until TIMESTAMP NOT NULL
);

-- Signed notes: one for each time that something was sealed.
CREATE TABLE audit_checkpoints (
    tenant_id TEXT NOT NULL,
    size BIGINT NOT NULL,
    created_at TIMESTAMP NOT NULL,
    note TEXT NOT NULL,
    PRIMARY KEY (tenant_id, size)
);

-- Entries before this place were dropped, as their time to be kept was over.
CREATE TABLE audit_drops (
    tenant_id TEXT NOT NULL,
    before_sequence BIGINT NOT NULL,
    created_at TIMESTAMP NOT NULL,
    PRIMARY KEY (tenant_id, before_sequence)
);
