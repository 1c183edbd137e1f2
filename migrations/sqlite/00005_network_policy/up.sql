-- Network policies. `tenants.network_policy` is read with every credential. Its version changes with the rules, so that
-- cached rules are read again. NULL: never set.

ALTER TABLE tenants ADD COLUMN network_policy JSON;

CREATE TABLE network_rules (
    tenant_id TEXT NOT NULL,
    id TEXT NOT NULL,
    cidr TEXT NOT NULL,
    label TEXT NOT NULL,
    created_at TIMESTAMP NOT NULL,
    PRIMARY KEY (tenant_id, id)
) WITHOUT ROWID;
CREATE UNIQUE INDEX network_rules_cidr ON network_rules (tenant_id, cidr);

-- Statistics for the query planner (see 00002).
INSERT INTO sqlite_stat1 (tbl, idx, stat) VALUES
    ('network_rules', 'network_rules', '100000 50 1'),
    ('network_rules', 'network_rules_cidr', '100000 50 1');
ANALYZE sqlite_schema;
