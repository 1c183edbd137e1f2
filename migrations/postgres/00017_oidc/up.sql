-- OpenID Connect: providers, and pending requests. Domains, connection tests and pinned subjects are in the tables of SAML.

-- `document` is the whole SSO connection with encrypted secrets; the other columns are for lookups.
CREATE TABLE oidc_providers (
    tenant_id TEXT NOT NULL,
    id TEXT COLLATE "C" NOT NULL,
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
    state BYTEA NOT NULL,
    provider_id TEXT COLLATE "C" NOT NULL,
    -- SHA-256 of the browser's cookie.
    browser BYTEA NOT NULL,
    return_to TEXT NOT NULL,
    trial_id TEXT,
    created_at TIMESTAMP NOT NULL,
    expires_at TIMESTAMP NOT NULL,
    is_claimed BOOLEAN NOT NULL,
    PRIMARY KEY (tenant_id, state)
);
CREATE INDEX oidc_requests_expires ON oidc_requests (expires_at);

-- Audit entries may have actors of further types.
ALTER TABLE audit_entries DROP CONSTRAINT audit_entries_actor_type_check;
