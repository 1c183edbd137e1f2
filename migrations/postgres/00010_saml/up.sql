-- SAML: whose assertions are believed, which domains are whose, and what waits for an answer or was used.

-- `document` is the whole provider; the other columns are what it is found by. Its private keys are sealed.
CREATE TABLE saml_providers (
    tenant_id TEXT NOT NULL,
    id TEXT COLLATE "C" NOT NULL,
    document JSON NOT NULL,
    -- When its last certificate ends.
    expires_at TIMESTAMP,
    -- When somebody has to look after it.
    due_at TIMESTAMP,
    created_at TIMESTAMP NOT NULL,
    PRIMARY KEY (tenant_id, id)
);
CREATE INDEX saml_providers_due ON saml_providers (due_at, tenant_id, id) WHERE due_at IS NOT NULL;
CREATE INDEX saml_providers_expires ON saml_providers (expires_at) WHERE expires_at IS NOT NULL;

-- Addresses of which domains a provider speaks for: of each of a tenant's domains one.
CREATE TABLE saml_provider_domains (
    tenant_id TEXT NOT NULL,
    domain TEXT COLLATE "C" NOT NULL,
    provider_id TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (tenant_id, domain)
);
CREATE INDEX saml_provider_domains_provider ON saml_provider_domains (tenant_id, provider_id);

-- Which tenant has proved a domain to be its own: one owner over all tenants.
CREATE TABLE verified_domains (
    domain TEXT COLLATE "C" PRIMARY KEY,
    tenant_id TEXT NOT NULL,
    method TEXT NOT NULL CHECK (method IN ('DNS', 'OPERATOR')),
    verified_at TIMESTAMP NOT NULL
);
CREATE INDEX verified_domains_tenant ON verified_domains (tenant_id, domain);

-- Requests of ours: each is answered once, by its provider, in the browser that began it.
CREATE TABLE saml_requests (
    tenant_id TEXT NOT NULL,
    id TEXT COLLATE "C" NOT NULL,
    provider_id TEXT COLLATE "C" NOT NULL,
    -- SHA-256 of what the browser keeps, and of the RelayState.
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

-- Assertions that were used, by SHA-256 of their ID, until they are over by themselves.
CREATE TABLE saml_assertions (
    tenant_id TEXT NOT NULL,
    provider_id TEXT COLLATE "C" NOT NULL,
    assertion BYTEA NOT NULL,
    expires_at TIMESTAMP NOT NULL,
    PRIMARY KEY (tenant_id, provider_id, assertion)
);
CREATE INDEX saml_assertions_expires ON saml_assertions (expires_at);

-- Tests of a connection, and what came of them.
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

-- When a session is over at the latest, whatever the tenant has set: the identity provider says so.
ALTER TABLE sessions ADD COLUMN not_after TIMESTAMP;
