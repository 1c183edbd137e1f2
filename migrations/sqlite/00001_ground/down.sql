DROP TABLE audit_entries;
DROP TABLE scim_tokens;
DROP TABLE user_emails;
DROP TABLE users;
DROP TABLE tenants;
