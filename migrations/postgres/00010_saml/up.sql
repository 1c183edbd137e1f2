-- SAML: identity providers, verified domains, pending requests and used assertions.

-- `document` is the whole SSO connection with encrypted private keys; the other columns are for lookups.
CREATE TABLE saml_providers (
    tenant_id TEXT NOT NULL,
    id TEXT COLLATE "C" NOT NULL,
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
    domain TEXT COLLATE "C" NOT NULL,
    provider_id TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (tenant_id, domain)
);
CREATE INDEX saml_provider_domains_provider ON saml_provider_domains (tenant_id, provider_id);

-- Verified domains. Each has one owner across all tenants.
CREATE TABLE verified_domains (
    domain TEXT COLLATE "C" PRIMARY KEY,
    tenant_id TEXT NOT NULL,
    method TEXT NOT NULL CHECK (method IN ('DNS', 'OPERATOR')),
    verified_at TIMESTAMP NOT NULL
);
CREATE INDEX verified_domains_tenant ON verified_domains (tenant_id, domain);

-- AuthnRequests. Each is answered once, by its identity provider, in the browser that started it.
CREATE TABLE saml_requests (
    tenant_id TEXT NOT NULL,
    id TEXT COLLATE "C" NOT NULL,
    provider_id TEXT COLLATE "C" NOT NULL,
    -- SHA-256 of the browser's cookie, and of the RelayState.
    browser BYTEA NOT NULL,
    relay_key BYTEA NOT NULL,
    return_to TEXT NOT NULL,
    force_authn BOOLEAN NOT NULL,
    trial_id TEXT,
    created_at TIMESTAMP NOT NULL,
    expires_at TIMESTAMP NOT NULL,
    is_claimed BOOLEAN NOT NULL,
    PRIMARY KEY (tenant_id, id)
);
CREATE INDEX saml_requests_expires ON saml_requests (expires_at);

-- Used assertions, by SHA-256 of their ID, until they expire.
CREATE TABLE saml_assertions (
    tenant_id TEXT NOT NULL,
    provider_id TEXT COLLATE "C" NOT NULL,
    assertion BYTEA NOT NULL,
    expires_at TIMESTAMP NOT NULL,
    PRIMARY KEY (tenant_id, provider_id, assertion)
);
CREATE INDEX saml_assertions_expires ON saml_assertions (expires_at);

-- Connection tests and their reports.
CREATE TABLE saml_trials (
    tenant_id TEXT NOT NULL,
    id TEXT COLLATE "C" NOT NULL,
    provider_id TEXT COLLATE "C" NOT NULL,
    user_id TEXT NOT NULL,
    created_at TIMESTAMP NOT NULL,
    expires_at TIMESTAMP NOT NULL,
    report JSON,
    PRIMARY KEY (tenant_id, id)
);
CREATE INDEX saml_trials_expires ON saml_trials (expires_at);

-- SessionNotOnOrAfter of the identity provider: when the session ends at the latest.
ALTER TABLE sessions ADD COLUMN not_after TIMESTAMP;
