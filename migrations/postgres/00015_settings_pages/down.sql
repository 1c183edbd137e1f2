DROP INDEX personal_access_tokens_expiry;
DROP TABLE scim_refusals;
