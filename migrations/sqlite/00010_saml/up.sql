-- SAML: identity providers, verified domains, pending requests and used assertions.

-- `document` is the whole SSO connection with encrypted private keys; the other columns are for lookups.
CREATE TABLE saml_providers (
    tenant_id TEXT NOT NULL,
    id TEXT NOT NULL,
    document JSON NOT NULL,
    -- Expiry of the last signing certificate.
    expires_at TIMESTAMP,
    -- When a worker processes it next.
    due_at TIMESTAMP,
    created_at TIMESTAMP NOT NULL,
    PRIMARY KEY (tenant_id, id)
);
CREATE INDEX saml_providers_due ON saml_providers (due_at, tenant_id, id) WHERE due_at IS NOT NULL;
CREATE INDEX saml_providers_expires ON saml_providers (expires_at) WHERE expires_at IS NOT NULL;

-- Email domains of an SSO connection. Each domain of a tenant belongs to one connection.
CREATE TABLE saml_provider_domains (
    tenant_id TEXT NOT NULL,
    domain TEXT NOT NULL,
    provider_id TEXT NOT NULL,
    PRIMARY KEY (tenant_id, domain)
) WITHOUT ROWID;
CREATE INDEX saml_provider_domains_provider ON saml_provider_domains (tenant_id, provider_id);

-- Verified domains. Each has one owner across all tenants.
CREATE TABLE verified_domains (
    domain TEXT PRIMARY KEY,
    tenant_id TEXT NOT NULL,
    method TEXT NOT NULL CHECK (method IN ('DNS', 'OPERATOR')),
    verified_at TIMESTAMP NOT NULL
) WITHOUT ROWID;
CREATE INDEX verified_domains_tenant ON verified_domains (tenant_id, domain);

-- AuthnRequests. Each is answered once, by its identity provider, in the browser that started it.
CREATE TABLE saml_requests (
    tenant_id TEXT NOT NULL,
    id TEXT NOT NULL,
    provider_id TEXT NOT NULL,
    -- SHA-256 of the browser's cookie, and of the RelayState.
    browser BLOB NOT NULL,
    relay_key BLOB NOT NULL,
    return_to TEXT NOT NULL,
    force_authn BOOLEAN NOT NULL,
    trial_id TEXT,
    created_at TIMESTAMP NOT NULL,
    expires_at TIMESTAMP NOT NULL,
    is_claimed BOOLEAN NOT NULL,
    PRIMARY KEY (tenant_id, id)
) WITHOUT ROWID;
CREATE INDEX saml_requests_expires ON saml_requests (expires_at);

-- Used assertions, by SHA-256 of their ID, until they expire.
CREATE TABLE saml_assertions (
    tenant_id TEXT NOT NULL,
    provider_id TEXT NOT NULL,
    assertion BLOB NOT NULL,
    expires_at TIMESTAMP NOT NULL,
    PRIMARY KEY (tenant_id, provider_id, assertion)
) WITHOUT ROWID;
CREATE INDEX saml_assertions_expires ON saml_assertions (expires_at);

-- Connection tests and their reports.
CREATE TABLE saml_trials (
    tenant_id TEXT NOT NULL,
    id TEXT NOT NULL,
    provider_id TEXT NOT NULL,
    user_id TEXT NOT NULL,
    created_at TIMESTAMP NOT NULL,
    expires_at TIMESTAMP NOT NULL,
    report JSON,
    PRIMARY KEY (tenant_id, id)
);
CREATE INDEX saml_trials_expires ON saml_trials (expires_at);

-- SessionNotOnOrAfter of the identity provider: when the session ends at the latest.
ALTER TABLE sessions ADD COLUMN not_after TIMESTAMP;

-- Statistics for the query planner (see 00002).
INSERT INTO sqlite_stat1 (tbl, idx, stat) VALUES
    ('saml_providers', 'sqlite_autoindex_saml_providers_1', '10000 10 1'),
    ('saml_providers', 'saml_providers_due', '10000 1 1 1'),
    ('saml_providers', 'saml_providers_expires', '10000 1'),
    ('saml_provider_domains', 'saml_provider_domains', '100000 100 1'),
    ('saml_provider_domains', 'saml_provider_domains_provider', '100000 100 10'),
    ('verified_domains', 'verified_domains', '100000 1'),
    ('verified_domains', 'verified_domains_tenant', '100000 100 1'),
    ('saml_requests', 'saml_requests', '100000 10000 1'),
    ('saml_requests', 'saml_requests_expires', '100000 1'),
    ('saml_assertions', 'saml_assertions', '100000 10000 1000 1'),
    ('saml_assertions', 'saml_assertions_expires', '100000 1'),
    ('saml_trials', 'sqlite_autoindex_saml_trials_1', '1000 10 1'),
    ('saml_trials', 'saml_trials_expires', '1000 1');
ANALYZE sqlite_schema;
