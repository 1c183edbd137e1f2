-- The session at the identity provider that a session was started through, so that one can end with the other.
ALTER TABLE sessions ADD COLUMN provider_id TEXT;
-- SHA-256 of the provider's identifiers of the user and of the session.
ALTER TABLE sessions ADD COLUMN provider_subject BLOB;
ALTER TABLE sessions ADD COLUMN provider_session BLOB;
-- The ID token of the sign-in, encrypted, to send as id_token_hint.
ALTER TABLE sessions ADD COLUMN logout_hint TEXT;
CREATE INDEX sessions_provider_subject ON sessions (tenant_id, provider_id, provider_subject)
WHERE provider_id IS NOT NULL AND revoked_at IS NULL;
CREATE INDEX sessions_provider_session ON sessions (tenant_id, provider_id, provider_session)
WHERE provider_session IS NOT NULL AND revoked_at IS NULL;
CREATE INDEX sessions_logout_hint ON sessions (last_seen_at) WHERE logout_hint IS NOT NULL;

-- Statistics for the query planner (see 00002).
INSERT INTO sqlite_stat1 (tbl, idx, stat) VALUES
    ('sessions', 'sessions_provider_subject', '1000000 100000 10000 2'),
    ('sessions', 'sessions_provider_session', '1000000 100000 10000 1'),
    ('sessions', 'sessions_logout_hint', '100000 1');
ANALYZE sqlite_schema;
