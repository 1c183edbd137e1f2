ALTER TABLE tenants DROP COLUMN attestation_policy;
