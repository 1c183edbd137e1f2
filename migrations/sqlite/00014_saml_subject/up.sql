-- Pinned persistent NameIDs, as SHA-256. Per identity provider, a NameID belongs to one user and a user has one NameID.
CREATE TABLE saml_subjects (
    tenant_id TEXT NOT NULL,
    provider_id TEXT NOT NULL,
    subject BLOB NOT NULL,
    user_id TEXT NOT NULL,
    pinned_at TIMESTAMP NOT NULL,
    PRIMARY KEY (tenant_id, provider_id, subject)
) WITHOUT ROWID;
CREATE UNIQUE INDEX saml_subjects_user ON saml_subjects (tenant_id, user_id, provider_id);

-- When the DNS record of a domain is checked next, and since when it has been missing.
ALTER TABLE verified_domains ADD COLUMN due_at TIMESTAMP;
ALTER TABLE verified_domains ADD COLUMN missing_since TIMESTAMP;
UPDATE verified_domains SET due_at = strftime('%Y-%m-%d %H:%M:%f', verified_at, '+30 days') WHERE method = 'DNS';
CREATE INDEX verified_domains_due ON verified_domains (due_at, domain) WHERE due_at IS NOT NULL;

-- Statistics for the query planner (see 00002).
INSERT INTO sqlite_stat1 (tbl, idx, stat) VALUES
    ('saml_subjects', 'saml_subjects', '1000000 100000 10000 1'),
    ('saml_subjects', 'saml_subjects_user', '1000000 100000 1 1'),
    ('verified_domains', 'verified_domains_due', '100000 10 1');
ANALYZE sqlite_schema;
