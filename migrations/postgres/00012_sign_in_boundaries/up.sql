-- A session that stands for a token of another issuer is found before its tenant is known.
CREATE INDEX sessions_foreign_hash ON sessions (foreign_hash, tenant_id) WHERE foreign_hash IS NOT NULL;

-- The salt that the passwords of all accounts of one address share, so that a sign-in without a tenant compares
-- one hash with all of them. By the SHA-256 of the address alone: the tenant is not known yet.
CREATE TABLE password_salts (
    address BYTEA NOT NULL PRIMARY KEY,
    salt BYTEA NOT NULL
);

-- Wrong codes of a user in a row, at sign-in and step-up together. A right answer deletes the row.
CREATE TABLE wrong_codes (
    tenant_id TEXT COLLATE "C" NOT NULL,
    user_id TEXT COLLATE "C" NOT NULL,
    in_a_row BIGINT NOT NULL,
    PRIMARY KEY (tenant_id, user_id)
);
