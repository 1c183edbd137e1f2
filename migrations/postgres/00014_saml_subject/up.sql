-- Persistent NameIDs, by their SHA-256: each belongs to one user, and a user has one at a provider.
CREATE TABLE saml_subjects (
    tenant_id TEXT NOT NULL,
    provider_id TEXT COLLATE "C" NOT NULL,
    subject BYTEA NOT NULL,
    user_id TEXT COLLATE "C" NOT NULL,
    pinned_at TIMESTAMP NOT NULL,
    PRIMARY KEY (tenant_id, provider_id, subject)
);
CREATE UNIQUE INDEX saml_subjects_user ON saml_subjects (tenant_id, user_id, provider_id);

-- When the DNS record of a domain is read again, and since when it was missing.
ALTER TABLE verified_domains ADD COLUMN due_at TIMESTAMP;
ALTER TABLE verified_domains ADD COLUMN missing_since TIMESTAMP;
UPDATE verified_domains SET due_at = verified_at + INTERVAL '30 days' WHERE method = 'DNS';
CREATE INDEX verified_domains_due ON verified_domains (due_at, domain) WHERE due_at IS NOT NULL;
