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
);

-- Users that a token deactivated or deleted, with the last time. Purged after two hours.
CREATE TABLE removals (
    tenant_id TEXT NOT NULL,
    token_id TEXT COLLATE "C" NOT NULL,
    user_id TEXT COLLATE "C" NOT NULL,
    at TIMESTAMP NOT NULL,
    PRIMARY KEY (tenant_id, token_id, user_id)
);
CREATE INDEX removals_token ON removals (tenant_id, token_id, at);
CREATE INDEX removals_at ON removals (at);

-- Removals that wait for the decision of an administrator. No foreign keys: a removal of a deleted user has no effect.
CREATE TABLE held_removals (
    tenant_id TEXT NOT NULL,
    token_id TEXT COLLATE "C" NOT NULL,
    user_id TEXT COLLATE "C" NOT NULL,
    deletes BOOLEAN NOT NULL,
    at TIMESTAMP NOT NULL,
    PRIMARY KEY (tenant_id, token_id, user_id)
);
