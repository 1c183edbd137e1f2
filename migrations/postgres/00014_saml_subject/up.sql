-- Pinned persistent NameIDs, as SHA-256. Per identity provider, a NameID belongs to one user and a user has one NameID.
CREATE TABLE saml_subjects (
    tenant_id TEXT NOT NULL,
    provider_id TEXT COLLATE "C" NOT NULL,
    subject BYTEA NOT NULL,
    user_id TEXT COLLATE "C" NOT NULL,
    pinned_at TIMESTAMP NOT NULL,
    PRIMARY KEY (tenant_id, provider_id, subject)
);
CREATE UNIQUE INDEX saml_subjects_user ON saml_subjects (tenant_id, user_id, provider_id);

-- When the DNS record of a domain is checked next, and since when it has been missing.
ALTER TABLE verified_domains ADD COLUMN due_at TIMESTAMP;
ALTER TABLE verified_domains ADD COLUMN missing_since TIMESTAMP;
UPDATE verified_domains SET due_at = verified_at + INTERVAL '30 days' WHERE method = 'DNS';
CREATE INDEX verified_domains_due ON verified_domains (due_at, domain) WHERE due_at IS NOT NULL;
