-- Slugs of all tenants. A distributed database cannot keep slugs unique in `tenants`, which it splits by id.
CREATE TABLE tenant_slugs (
    slug TEXT COLLATE "C" PRIMARY KEY,
    tenant_id TEXT NOT NULL
);
INSERT INTO tenant_slugs (slug, tenant_id) SELECT slug, id FROM tenants;

-- A distributed database needs the same collation for the tenant in all tables.
ALTER TABLE wrong_codes ALTER COLUMN tenant_id TYPE TEXT;

-- Running dispatchers of webhooks. The leases of one that is no longer seen are free.
CREATE TABLE dispatchers (
    id TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    seen_at TIMESTAMP NOT NULL
);
