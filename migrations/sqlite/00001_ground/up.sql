-- Every table but `tenants` has tenant_id first in its primary key, unique keys and foreign keys,
-- so that the same schema distributes by tenant. Times are UTC, milliseconds.

CREATE TABLE tenants (
    id TEXT NOT NULL PRIMARY KEY,
    slug TEXT NOT NULL UNIQUE,
    name TEXT NOT NULL,
    tier TEXT NOT NULL CHECK (tier IN ('FREE', 'STANDARD', 'ENTERPRISE')),
    created_at TIMESTAMP NOT NULL
);

CREATE TABLE users (
    tenant_id TEXT NOT NULL,
    id TEXT NOT NULL,
    user_name TEXT NOT NULL,
    user_name_key TEXT NOT NULL,
    external_id TEXT,
    active BOOLEAN NOT NULL,
    role TEXT NOT NULL CHECK (role IN ('ADMIN', 'MEMBER')),
    sign_in_email_key TEXT,
    attributes JSON NOT NULL,
    created_at TIMESTAMP NOT NULL,
    updated_at TIMESTAMP NOT NULL,
    PRIMARY KEY (tenant_id, id)
) WITHOUT ROWID;
CREATE UNIQUE INDEX users_user_name ON users (tenant_id, user_name_key);
CREATE UNIQUE INDEX users_sign_in_email ON users (tenant_id, sign_in_email_key) WHERE sign_in_email_key IS NOT NULL;
CREATE INDEX users_external_id ON users (tenant_id, external_id) WHERE external_id IS NOT NULL;

-- Index of users' email addresses. The values are in users.attributes.
CREATE TABLE user_emails (
    tenant_id TEXT NOT NULL,
    user_id TEXT NOT NULL,
    position BIGINT NOT NULL,
    value_key TEXT NOT NULL,
    PRIMARY KEY (tenant_id, user_id, position),
    FOREIGN KEY (tenant_id, user_id) REFERENCES users (tenant_id, id) ON DELETE CASCADE
) WITHOUT ROWID;
CREATE INDEX user_emails_value ON user_emails (tenant_id, value_key);

CREATE TABLE scim_tokens (
    tenant_id TEXT NOT NULL,
    id TEXT NOT NULL,
    name TEXT NOT NULL,
    hash BLOB NOT NULL,
    create_conflict BOOLEAN NOT NULL,
    created_at TIMESTAMP NOT NULL,
    revoked_at TIMESTAMP,
    PRIMARY KEY (tenant_id, id)
) WITHOUT ROWID;
CREATE UNIQUE INDEX scim_tokens_hash ON scim_tokens (tenant_id, hash);

CREATE TABLE audit_entries (
    tenant_id TEXT NOT NULL,
    id TEXT NOT NULL,
    created_at TIMESTAMP NOT NULL,
    actor_type TEXT NOT NULL CHECK (actor_type IN ('USER', 'SCIM', 'SYSTEM', 'SAML')),
    actor_id TEXT NOT NULL,
    action TEXT NOT NULL,
    resource_type TEXT NOT NULL,
    resource_id TEXT NOT NULL,
    ip TEXT,
    metadata JSON NOT NULL,
    salt BLOB,
    leaf BLOB NOT NULL,
    PRIMARY KEY (tenant_id, id)
) WITHOUT ROWID;
