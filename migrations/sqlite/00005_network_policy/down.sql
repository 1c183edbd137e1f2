DROP TABLE network_rules;
ALTER TABLE tenants DROP COLUMN network_policy;
