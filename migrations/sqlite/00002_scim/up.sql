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
CREATE INDEX users_live ON users (tenant_id, id) WHERE deleted_at IS NULL;
CREATE INDEX users_inactive ON users (tenant_id, id) WHERE deleted_at IS NULL AND active = FALSE;
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
