-- A link is valid only for the address and the role it was issued for. `role` NULL: issued by an older version, never valid.
ALTER TABLE links ADD COLUMN email_key TEXT;
ALTER TABLE links ADD COLUMN role TEXT;

-- Links of users who have not changed since keep working; all others are void.
UPDATE links SET
    email_key = (SELECT sign_in_email_key FROM users WHERE users.tenant_id = links.tenant_id AND users.id = links.user_id),
    role = (SELECT role FROM users WHERE users.tenant_id = links.tenant_id AND users.id = links.user_id
        AND users.active AND users.deleted_at IS NULL AND users.updated_at <= links.created_at);
DELETE FROM links WHERE role IS NULL;

-- Finds recent step-ups of a session, used or unused.
CREATE INDEX step_up_tokens_issued ON step_up_tokens (tenant_id, session_id, issued_at);

-- Statistics for the query planner (see 00002).
INSERT INTO sqlite_stat1 (tbl, idx, stat) VALUES
    ('step_up_tokens', 'step_up_tokens_issued', '10000 1000 2 1');
ANALYZE sqlite_schema;
