-- Limits of removals by SCIM tokens.

ALTER TABLE scim_tokens ADD COLUMN removals_paused_at TIMESTAMP;
-- The number of users from which the share of removed users is computed, and when they were counted.
ALTER TABLE scim_tokens ADD COLUMN removals_users BIGINT;
ALTER TABLE scim_tokens ADD COLUMN removals_counted_at TIMESTAMP;

-- The limits that tenants have set.
CREATE TABLE removal_limits (
    tenant_id TEXT NOT NULL,
    enabled BOOLEAN NOT NULL,
    percent BIGINT NOT NULL,
    users BIGINT NOT NULL,
    PRIMARY KEY (tenant_id)
) WITHOUT ROWID;

-- Users that a token deactivated or deleted, with the last time. Purged after two hours.
CREATE TABLE removals (
    tenant_id TEXT NOT NULL,
    token_id TEXT NOT NULL,
    user_id TEXT NOT NULL,
    at TIMESTAMP NOT NULL,
    PRIMARY KEY (tenant_id, token_id, user_id)
) WITHOUT ROWID;
CREATE INDEX removals_token ON removals (tenant_id, token_id, at);
CREATE INDEX removals_at ON removals (at);

-- Removals that wait for the decision of an administrator. No foreign keys: a removal of a deleted user has no effect.
CREATE TABLE held_removals (
    tenant_id TEXT NOT NULL,
    token_id TEXT NOT NULL,
    user_id TEXT NOT NULL,
    deletes BOOLEAN NOT NULL,
    at TIMESTAMP NOT NULL,
    PRIMARY KEY (tenant_id, token_id, user_id)
) WITHOUT ROWID;

-- Statistics for the query planner (see 00002).
INSERT INTO sqlite_stat1 (tbl, idx, stat) VALUES
    ('removal_limits', 'removal_limits', '10000 1'),
    ('removals', 'removals', '1000000 1000 100 1'),
    ('removals', 'removals_token', '1000000 1000 100 1'),
    ('removals', 'removals_at', '1000000 1'),
    ('held_removals', 'held_removals', '1000000 1000 100 1');
ANALYZE sqlite_schema;
