-- OpenID Connect: providers, and pending requests. Domains, connection tests and pinned subjects are in the tables of SAML.

-- `document` is the whole SSO connection with encrypted secrets; the other columns are for lookups.
CREATE TABLE oidc_providers (
    tenant_id TEXT NOT NULL,
    id TEXT NOT NULL,
    document JSON NOT NULL,
    -- When a worker processes it next.
    due_at TIMESTAMP,
    created_at TIMESTAMP NOT NULL,
    PRIMARY KEY (tenant_id, id)
);
CREATE INDEX oidc_providers_due ON oidc_providers (due_at, tenant_id, id) WHERE due_at IS NOT NULL;

-- Sign-in requests. Each is answered once, by its provider, in the browser that started it.
CREATE TABLE oidc_requests (
    tenant_id TEXT NOT NULL,
    -- SHA-256 of the state.
    state BLOB NOT NULL,
    provider_id TEXT NOT NULL,
    -- SHA-256 of the browser's cookie.
    browser BLOB NOT NULL,
    return_to TEXT NOT NULL,
    trial_id TEXT,
    created_at TIMESTAMP NOT NULL,
    expires_at TIMESTAMP NOT NULL,
    is_claimed BOOLEAN NOT NULL,
    PRIMARY KEY (tenant_id, state)
) WITHOUT ROWID;
CREATE INDEX oidc_requests_expires ON oidc_requests (expires_at);

-- Audit entries may have actors of further types. SQLite changes a constraint without copying the table only like this
-- (https://www.sqlite.org/lang_altertable.html#otheralter).
PRAGMA writable_schema = 1;
UPDATE sqlite_schema SET sql = replace(sql, ' CHECK (actor_type IN (''USER'', ''SCIM'', ''SYSTEM'', ''SAML''))', '')
WHERE type = 'table' AND name = 'audit_entries';
PRAGMA writable_schema = 'RESET';

-- Statistics for the query planner (see 00002).
INSERT INTO sqlite_stat1 (tbl, idx, stat) VALUES
    ('oidc_providers', 'sqlite_autoindex_oidc_providers_1', '10000 10 1'),
    ('oidc_providers', 'oidc_providers_due', '10000 1 1 1'),
    ('oidc_requests', 'oidc_requests', '100000 10000 1'),
    ('oidc_requests', 'oidc_requests_expires', '100000 1');
ANALYZE sqlite_schema;
