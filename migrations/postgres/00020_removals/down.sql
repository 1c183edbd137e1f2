DROP TABLE held_removals;
DROP TABLE removals;
DROP TABLE removal_limits;
ALTER TABLE scim_tokens DROP COLUMN removals_counted_at;
ALTER TABLE scim_tokens DROP COLUMN removals_users;
ALTER TABLE scim_tokens DROP COLUMN removals_paused_at;
