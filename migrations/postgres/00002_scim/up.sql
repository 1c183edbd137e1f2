-- `folded` is `attributes` with all case-insensitive values case-folded. Filters read it. The server fills it for existing
-- rows.
-- `has_groups` is false for users who are certainly in no group, so that most users are read with one statement.
ALTER TABLE users ADD COLUMN folded JSON;
ALTER TABLE users ADD COLUMN has_groups BOOLEAN NOT NULL DEFAULT FALSE;
ALTER TABLE users ADD COLUMN deleted_at TIMESTAMP;
-- Empty once all rows are filled, so that the server finds out quickly that nothing is left to do.
CREATE INDEX users_unfolded ON users (tenant_id) WHERE folded IS NULL;

-- Compared bytewise, so that an index also finds prefixes.
ALTER TABLE users
    ALTER COLUMN id TYPE TEXT COLLATE "C",
    ALTER COLUMN user_name_key TYPE TEXT COLLATE "C",
    ALTER COLUMN external_id TYPE TEXT COLLATE "C";
ALTER TABLE user_emails
    ALTER COLUMN user_id TYPE TEXT COLLATE "C",
    ALTER COLUMN value_key TYPE TEXT COLLATE "C";

-- A deleted user keeps the row. The user name and email addresses become available.
DROP INDEX users_user_name;
CREATE UNIQUE INDEX users_user_name ON users (tenant_id, user_name_key) WHERE deleted_at IS NULL;
CREATE INDEX users_live ON users (tenant_id, id) WHERE deleted_at IS NULL;
CREATE INDEX users_inactive ON users (tenant_id, id) WHERE deleted_at IS NULL AND active = FALSE;
CREATE INDEX users_modified ON users (tenant_id, updated_at) WHERE deleted_at IS NULL;

CREATE TABLE groups (
    tenant_id TEXT NOT NULL,
    id TEXT COLLATE "C" NOT NULL,
    display_name TEXT NOT NULL,
    display_name_key TEXT COLLATE "C" NOT NULL,
    external_id TEXT COLLATE "C",
    created_at TIMESTAMP NOT NULL,
    updated_at TIMESTAMP NOT NULL,
    PRIMARY KEY (tenant_id, id)
);
CREATE UNIQUE INDEX groups_display_name ON groups (tenant_id, display_name_key);
CREATE INDEX groups_external_id ON groups (tenant_id, external_id) WHERE external_id IS NOT NULL;

-- No foreign key to users: rows are inserted for existing users and deleted with the user.
CREATE TABLE group_members (
    tenant_id TEXT NOT NULL,
    group_id TEXT COLLATE "C" NOT NULL,
    user_id TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (tenant_id, group_id, user_id),
    FOREIGN KEY (tenant_id, group_id) REFERENCES groups (tenant_id, id) ON DELETE CASCADE
);
CREATE INDEX group_members_user ON group_members (tenant_id, user_id, group_id);
