DROP TABLE group_members;
DROP TABLE groups;
DROP INDEX users_modified;
DROP INDEX users_inactive;
DROP INDEX users_live;
DROP INDEX users_user_name;
DROP INDEX users_unfolded;
-- The user names of deleted users may have been assigned again.
DELETE FROM users WHERE deleted_at IS NOT NULL;
CREATE UNIQUE INDEX users_user_name ON users (tenant_id, user_name_key);
ALTER TABLE users DROP COLUMN deleted_at;
ALTER TABLE users DROP COLUMN has_groups;
ALTER TABLE users DROP COLUMN folded;
