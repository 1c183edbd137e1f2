-- Finds the session of another issuer's token before the tenant is known.
CREATE INDEX sessions_foreign_hash ON sessions (foreign_hash, tenant_id) WHERE foreign_hash IS NOT NULL;

-- The salt that all accounts of an email address share, so that a sign-in without a tenant computes one hash for all of
-- them. The key is the SHA-256 of the address only, because the tenant is not known yet.
CREATE TABLE password_salts (
    address BLOB NOT NULL PRIMARY KEY,
    salt BLOB NOT NULL
) WITHOUT ROWID;

-- Consecutive wrong codes of a user, at sign-in and step-up together. A correct code deletes the row.
CREATE TABLE wrong_codes (
    tenant_id TEXT NOT NULL,
    user_id TEXT NOT NULL,
    in_a_row BIGINT NOT NULL,
    PRIMARY KEY (tenant_id, user_id)
) WITHOUT ROWID;

-- Statistics for the query planner (see 00002).
INSERT INTO sqlite_stat1 (tbl, idx, stat) VALUES
    ('sessions', 'sessions_foreign_hash', '100000 1 1'),
    ('password_salts', 'password_salts', '1000000 1'),
    ('wrong_codes', 'wrong_codes', '10000 1000 1');
ANALYZE sqlite_schema;
