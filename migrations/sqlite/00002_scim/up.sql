-- `folded` is `attributes` with all case-insensitive values case-folded. Filters read it. The server fills it for existing
-- rows.
-- `has_groups` is false for users who are certainly in no group, so that most users are read with one statement.
ALTER TABLE users ADD COLUMN folded JSON;
ALTER TABLE users ADD COLUMN has_groups BOOLEAN NOT NULL DEFAULT FALSE;
ALTER TABLE users ADD COLUMN deleted_at TIMESTAMP;
-- Empty once all rows are filled, so that the server finds out quickly that nothing is left to do.
CREATE INDEX users_unfolded ON users (tenant_id) WHERE folded IS NULL;

-- A deleted user keeps the row. The user name and email addresses become available.
DROP INDEX users_user_name;
CREATE UNIQUE INDEX users_user_name ON users (tenant_id, user_name_key) WHERE deleted_at IS NULL;
-- Includes `deleted_at`, so that counting reads only the index.
CREATE INDEX users_live ON users (tenant_id, id, deleted_at) WHERE deleted_at IS NULL;
CREATE INDEX users_inactive ON users (tenant_id, id, active, deleted_at) WHERE deleted_at IS NULL AND active = FALSE;
CREATE INDEX users_modified ON users (tenant_id, updated_at) WHERE deleted_at IS NULL;

CREATE TABLE groups (
    tenant_id TEXT NOT NULL,
    id TEXT NOT NULL,
    display_name TEXT NOT NULL,
    display_name_key TEXT NOT NULL,
    external_id TEXT,
    created_at TIMESTAMP NOT NULL,
    updated_at TIMESTAMP NOT NULL,
    PRIMARY KEY (tenant_id, id)
);
CREATE UNIQUE INDEX groups_display_name ON groups (tenant_id, display_name_key);
CREATE INDEX groups_external_id ON groups (tenant_id, external_id) WHERE external_id IS NOT NULL;

-- No foreign key to users: rows are inserted for existing users and deleted with the user.
CREATE TABLE group_members (
    tenant_id TEXT NOT NULL,
    group_id TEXT NOT NULL,
    user_id TEXT NOT NULL,
    PRIMARY KEY (tenant_id, group_id, user_id),
    FOREIGN KEY (tenant_id, group_id) REFERENCES groups (tenant_id, id) ON DELETE CASCADE
);
CREATE INDEX group_members_user ON group_members (tenant_id, user_id, group_id);

-- Statistics for the query planner, as of large tenants: rows of an index, then rows with the same first column, the same
-- first two columns, and so on. Without them, all indexes that begin with the tenant look equally good.
ANALYZE;
DELETE FROM sqlite_stat1;
INSERT INTO sqlite_stat1 (tbl, idx, stat) VALUES
    ('users', 'sqlite_autoindex_users_1', '1000000 100000 1'),
    ('users', 'users_user_name', '1000000 100000 1'),
    ('users', 'users_sign_in_email', '1000000 100000 1'),
    ('users', 'users_external_id', '1000000 100000 1'),
    ('users', 'users_live', '1000000 100000 1 1'),
    ('users', 'users_inactive', '10000 1000 1 1 1'),
    ('users', 'users_modified', '1000000 100000 10'),
    ('user_emails', 'sqlite_autoindex_user_emails_1', '2000000 200000 2 1'),
    ('user_emails', 'user_emails_value', '2000000 200000 1'),
    ('groups', 'sqlite_autoindex_groups_1', '10000 1000 1'),
    ('groups', 'groups_display_name', '10000 1000 1'),
    ('groups', 'groups_external_id', '10000 1000 1'),
    ('group_members', 'sqlite_autoindex_group_members_1', '1000000 100000 100 1'),
    ('group_members', 'group_members_user', '1000000 100000 10 1'),
    ('audit_entries', 'sqlite_autoindex_audit_entries_1', '10000000 1000000 1');
ANALYZE sqlite_schema;
