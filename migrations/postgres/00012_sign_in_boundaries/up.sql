-- Finds the session of another issuer's token before the tenant is known.
CREATE INDEX sessions_foreign_hash ON sessions (foreign_hash, tenant_id) WHERE foreign_hash IS NOT NULL;

-- The salt that all accounts of an email address share, so that a sign-in without a tenant computes one hash for all of
-- them. The key is the SHA-256 of the address only, because the tenant is not known yet.
CREATE TABLE password_salts (
    address BYTEA NOT NULL PRIMARY KEY,
    salt BYTEA NOT NULL
);

-- Consecutive wrong codes of a user, at sign-in and step-up together. A correct code deletes the row.
CREATE TABLE wrong_codes (
    tenant_id TEXT COLLATE "C" NOT NULL,
    user_id TEXT COLLATE "C" NOT NULL,
    in_a_row BIGINT NOT NULL,
    PRIMARY KEY (tenant_id, user_id)
);
