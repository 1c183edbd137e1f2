-- Sign-in. No foreign keys to users: rows are inserted for existing users and deleted with the user.

ALTER TABLE tenants ADD COLUMN sign_in_policy JSON;

-- `sessions_after`: session tokens that another Auth.js issued up to this time are refused.
ALTER TABLE users ADD COLUMN sessions_after TIMESTAMP;
ALTER TABLE users ADD COLUMN break_glass BOOLEAN NOT NULL DEFAULT FALSE;
CREATE INDEX users_admins ON users (tenant_id, id) WHERE role = 'ADMIN' AND deleted_at IS NULL;

-- Tenants of an email address, for sign-in without a tenant. An index of users makes addresses unique in a tenant.
CREATE TABLE sign_in_names (
    email_key TEXT COLLATE "C" NOT NULL,
    tenant_id TEXT NOT NULL,
    user_id TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (email_key, tenant_id)
);
INSERT INTO sign_in_names (email_key, tenant_id, user_id)
    SELECT sign_in_email_key, tenant_id, id FROM users WHERE sign_in_email_key IS NOT NULL;

-- Notices for users, shown after their next sign-in.
CREATE TABLE notices (
    tenant_id TEXT NOT NULL,
    user_id TEXT COLLATE "C" NOT NULL,
    notice TEXT NOT NULL,
    PRIMARY KEY (tenant_id, user_id)
);

CREATE TABLE passwords (
    tenant_id TEXT NOT NULL,
    user_id TEXT COLLATE "C" NOT NULL,
    hash TEXT NOT NULL,
    changed_at TIMESTAMP NOT NULL,
    PRIMARY KEY (tenant_id, user_id)
);

CREATE TABLE sessions (
    tenant_id TEXT NOT NULL,
    id TEXT COLLATE "C" NOT NULL,
    user_id TEXT COLLATE "C" NOT NULL,
    created_at TIMESTAMP NOT NULL,
    signed_in_at TIMESTAMP NOT NULL,
    last_seen_at TIMESTAMP NOT NULL,
    ip TEXT,
    device_label TEXT NOT NULL,
    location TEXT,
    standing TEXT NOT NULL CHECK (standing IN ('FULL', 'OWING')),
    methods JSON NOT NULL,
    grace JSON,
    foreign_hash BYTEA,
    revoked_at TIMESTAMP,
    PRIMARY KEY (tenant_id, id)
);
CREATE INDEX sessions_user ON sessions (tenant_id, user_id) WHERE revoked_at IS NULL;
CREATE UNIQUE INDEX sessions_foreign ON sessions (tenant_id, foreign_hash) WHERE foreign_hash IS NOT NULL;

-- `sealed` is the encrypted secret of an authenticator app, `passkey` the public key with its metadata.
CREATE TABLE factors (
    tenant_id TEXT NOT NULL,
    id TEXT COLLATE "C" NOT NULL,
    user_id TEXT COLLATE "C" NOT NULL,
    kind TEXT NOT NULL CHECK (kind IN ('WEBAUTHN', 'TOTP')),
    name TEXT NOT NULL,
    created_at TIMESTAMP NOT NULL,
    verified_at TIMESTAMP,
    last_used_at TIMESTAMP,
    sealed BYTEA,
    last_step BIGINT NOT NULL,
    passkey JSON,
    credential_id BYTEA,
    PRIMARY KEY (tenant_id, id)
);
CREATE INDEX factors_user ON factors (tenant_id, user_id);
CREATE UNIQUE INDEX factors_credential ON factors (tenant_id, credential_id) WHERE credential_id IS NOT NULL;

CREATE TABLE recovery_codes (
    tenant_id TEXT NOT NULL,
    user_id TEXT COLLATE "C" NOT NULL,
    hash BYTEA NOT NULL,
    used_at TIMESTAMP,
    PRIMARY KEY (tenant_id, user_id, hash)
);

CREATE TABLE tickets (
    tenant_id TEXT NOT NULL,
    hash BYTEA NOT NULL,
    kind TEXT NOT NULL,
    user_id TEXT COLLATE "C" NOT NULL,
    state JSON NOT NULL,
    created_at TIMESTAMP NOT NULL,
    wrong_answers BIGINT NOT NULL,
    PRIMARY KEY (tenant_id, hash)
);
CREATE INDEX tickets_user ON tickets (tenant_id, user_id);
CREATE INDEX tickets_created ON tickets (created_at);

CREATE TABLE links (
    tenant_id TEXT NOT NULL,
    hash BYTEA NOT NULL,
    kind TEXT NOT NULL CHECK (kind IN ('INVITATION', 'RESET')),
    user_id TEXT COLLATE "C" NOT NULL,
    created_at TIMESTAMP NOT NULL,
    PRIMARY KEY (tenant_id, hash)
);
CREATE INDEX links_user ON links (tenant_id, user_id);
CREATE INDEX links_created ON links (created_at);

CREATE TABLE personal_access_tokens (
    tenant_id TEXT NOT NULL,
    id TEXT COLLATE "C" NOT NULL,
    user_id TEXT COLLATE "C" NOT NULL,
    name TEXT NOT NULL,
    scopes TEXT NOT NULL,
    hash BYTEA NOT NULL,
    created_at TIMESTAMP NOT NULL,
    expires_at TIMESTAMP,
    revoked_at TIMESTAMP,
    last_used_at TIMESTAMP,
    last_used_ip TEXT,
    PRIMARY KEY (tenant_id, id)
);
CREATE UNIQUE INDEX personal_access_tokens_hash ON personal_access_tokens (tenant_id, hash);
CREATE INDEX personal_access_tokens_user ON personal_access_tokens (tenant_id, user_id) WHERE revoked_at IS NULL;

ALTER TABLE scim_tokens ADD COLUMN last_used_at TIMESTAMP;
ALTER TABLE scim_tokens ADD COLUMN last_used_ip TEXT;

-- Client addresses from which a user has signed in (IPv6 by /64).
CREATE TABLE known_origins (
    tenant_id TEXT NOT NULL,
    user_id TEXT COLLATE "C" NOT NULL,
    origin TEXT COLLATE "C" NOT NULL,
    seen_at TIMESTAMP NOT NULL,
    PRIMARY KEY (tenant_id, user_id, origin)
);

-- Challenges of passkey sign-ins without a user name. Each may be answered once.
CREATE TABLE spent_challenges (
    tenant_id TEXT NOT NULL,
    hash BYTEA NOT NULL,
    until TIMESTAMP NOT NULL,
    PRIMARY KEY (tenant_id, hash)
);

CREATE INDEX spent_challenges_until ON spent_challenges (until);

-- Attempts per address and per account, across tenants. Times are in milliseconds.
CREATE TABLE attempts (
    key BYTEA NOT NULL PRIMARY KEY,
    times JSON NOT NULL,
    until TIMESTAMP NOT NULL
);
CREATE INDEX attempts_until ON attempts (until);
