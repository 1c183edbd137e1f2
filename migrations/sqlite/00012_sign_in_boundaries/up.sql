-- A session that stands for a token of another issuer is found before its tenant is known.
CREATE INDEX sessions_foreign_hash ON sessions (foreign_hash, tenant_id) WHERE foreign_hash IS NOT NULL;

-- The salt that the passwords of all accounts of one address share, so that a sign-in without a tenant compares
-- one hash with all of them. By the SHA-256 of the address alone: the tenant is not known yet.
CREATE TABLE password_salts (
    address BLOB NOT NULL PRIMARY KEY,
    salt BLOB NOT NULL
) WITHOUT ROWID;

-- Wrong codes of a user in a row, at sign-in and step-up together. A right answer deletes the row.
CREATE TABLE wrong_codes (
    tenant_id TEXT NOT NULL,
    user_id TEXT NOT NULL,
    in_a_row BIGINT NOT NULL,
    PRIMARY KEY (tenant_id, user_id)
) WITHOUT ROWID;

-- As for the tables before: rows of an index, then rows that share its first column, its first two, … .
INSERT INTO sqlite_stat1 (tbl, idx, stat) VALUES
    ('sessions', 'sessions_foreign_hash', '100000 1 1'),
    ('password_salts', 'password_salts', '1000000 1'),
    ('wrong_codes', 'wrong_codes', '10000 1000 1');
ANALYZE sqlite_schema;
