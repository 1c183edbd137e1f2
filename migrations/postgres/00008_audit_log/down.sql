DROP TABLE audit_drops;
DROP TABLE audit_checkpoints;
DROP TABLE audit_logs;
DROP TABLE audit_subtrees;
DROP TABLE audit_sealed;
DROP TABLE audit_unsealed;
ALTER TABLE tenants DROP COLUMN audit_days;
ALTER TABLE audit_entries DROP COLUMN ip_commitment;
