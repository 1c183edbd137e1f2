-- `folded` is `attributes` with every text that is compared without regard to case folded: what filters
-- read. It is filled by the server for rows that were there before.
-- `has_groups` is false for who is surely in no group, so that reading most users stays one statement.
ALTER TABLE users ADD COLUMN folded JSON;
ALTER TABLE users ADD COLUMN has_groups BOOLEAN NOT NULL DEFAULT FALSE;
ALTER TABLE users ADD COLUMN deleted_at TIMESTAMP;
-- Empty once they are filled; then the server sees at once that there is nothing to do.
CREATE INDEX users_unfolded ON users (tenant_id) WHERE folded IS NULL;

-- A deleted user keeps its row and gives back its names.
DROP INDEX users_user_name;
CREATE UNIQUE INDEX users_user_name ON users (tenant_id, user_name_key) WHERE deleted_at IS NULL;
-- `deleted_at` once more, so that counting needs the index alone.
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

-- No foreign key to users: rows are made from users that are there, and a deleted user's are taken away.
CREATE TABLE group_members (
    tenant_id TEXT NOT NULL,
    group_id TEXT NOT NULL,
    user_id TEXT NOT NULL,
    PRIMARY KEY (tenant_id, group_id, user_id),
    FOREIGN KEY (tenant_id, group_id) REFERENCES groups (tenant_id, id) ON DELETE CASCADE
);
CREATE INDEX group_members_user ON group_members (tenant_id, user_id, group_id);

-- What the planner would learn from large tenants: rows of an index, then rows that share its first column, its
-- first two, … . Without it every index that begins with the tenant looks as good as any other.
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
