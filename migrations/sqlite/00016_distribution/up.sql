-- Slugs of all tenants. On PostgreSQL a distributed database cannot keep slugs unique in `tenants`.
CREATE TABLE tenant_slugs (
    slug TEXT NOT NULL PRIMARY KEY,
    tenant_id TEXT NOT NULL
) WITHOUT ROWID;
INSERT INTO tenant_slugs (slug, tenant_id) SELECT slug, id FROM tenants;

-- Running dispatchers of webhooks. The leases of one that is no longer seen are free.
CREATE TABLE dispatchers (
    id TEXT NOT NULL PRIMARY KEY,
    seen_at TIMESTAMP NOT NULL
) WITHOUT ROWID;

-- Statistics for the query planner (see 00002).
INSERT INTO sqlite_stat1 (tbl, idx, stat) VALUES
    ('tenant_slugs', 'tenant_slugs', '10000 1'),
    ('dispatchers', 'dispatchers', '10 1');
ANALYZE sqlite_schema;
