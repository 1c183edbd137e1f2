DROP TABLE claimed_groups;
DROP TABLE connection_accounts;
DROP TABLE role_rules;
DROP TABLE roles;
DROP INDEX users_other_role;
ALTER TABLE users DROP COLUMN other_role;
