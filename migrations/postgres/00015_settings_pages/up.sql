-- SCIM requests that were refused, one row per distinct refusal. The id is the SHA-256 of its parts.
CREATE TABLE scim_refusals (
    tenant_id TEXT NOT NULL,
    id BYTEA NOT NULL,
    token_id TEXT COLLATE "C" NOT NULL,
    method TEXT NOT NULL,
    target TEXT NOT NULL,
    subject TEXT,
    status BIGINT NOT NULL,
    scim_type TEXT,
    detail TEXT NOT NULL,
    times BIGINT NOT NULL,
    last_at TIMESTAMP NOT NULL,
    PRIMARY KEY (tenant_id, id)
);
CREATE INDEX scim_refusals_newest ON scim_refusals (tenant_id, last_at);
CREATE INDEX scim_refusals_last_at ON scim_refusals (last_at);

-- Finds personal access tokens that expire soon.
CREATE INDEX personal_access_tokens_expiry ON personal_access_tokens (tenant_id, expires_at) WHERE revoked_at IS NULL;
