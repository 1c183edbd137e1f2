-- SCIM requests that were refused, one row per distinct refusal. The id is the SHA-256 of its parts.
CREATE TABLE scim_refusals (
    tenant_id TEXT NOT NULL,
    id BLOB NOT NULL,
    token_id TEXT NOT NULL,
    method TEXT NOT NULL,
    target TEXT NOT NULL,
    subject TEXT,
    status BIGINT NOT NULL,
    scim_type TEXT,
    detail TEXT NOT NULL,
    times BIGINT NOT NULL,
    last_at TIMESTAMP NOT NULL,
    PRIMARY KEY (tenant_id, id)
) WITHOUT ROWID;
CREATE INDEX scim_refusals_newest ON scim_refusals (tenant_id, last_at);
CREATE INDEX scim_refusals_last_at ON scim_refusals (last_at);

-- Finds personal access tokens that expire soon.
CREATE INDEX personal_access_tokens_expiry ON personal_access_tokens (tenant_id, expires_at) WHERE revoked_at IS NULL;

-- Statistics for the query planner (see 00002).
INSERT INTO sqlite_stat1 (tbl, idx, stat) VALUES
    ('scim_refusals', 'scim_refusals', '10000 50 1'),
    ('scim_refusals', 'scim_refusals_newest', '10000 50 1'),
    ('scim_refusals', 'scim_refusals_last_at', '10000 2'),
    ('personal_access_tokens', 'personal_access_tokens_expiry', '100000 10000 2');
ANALYZE sqlite_schema;
