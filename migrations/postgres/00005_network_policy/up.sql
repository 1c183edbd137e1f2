-- Network policies. `tenants.network_policy` is read with every credential. Its version changes with the rules, so that
-- cached rules are read again. NULL: never set.

ALTER TABLE tenants ADD COLUMN network_policy JSON;

CREATE TABLE network_rules (
    tenant_id TEXT NOT NULL,
    id TEXT COLLATE "C" NOT NULL,
    cidr TEXT COLLATE "C" NOT NULL,
    label TEXT NOT NULL,
    created_at TIMESTAMP NOT NULL,
    PRIMARY KEY (tenant_id, id)
);
CREATE UNIQUE INDEX network_rules_cidr ON network_rules (tenant_id, cidr);
