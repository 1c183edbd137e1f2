-- Attestation policy: which authenticators may be enrolled. NULL: never set.

ALTER TABLE tenants ADD COLUMN attestation_policy JSON;
