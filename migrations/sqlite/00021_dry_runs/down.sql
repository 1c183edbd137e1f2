-- Without the column, the changes of these tokens would be made.
UPDATE scim_tokens SET revoked_at = CURRENT_TIMESTAMP WHERE dry_run AND revoked_at IS NULL;
DROP TABLE dry_run_changes;
ALTER TABLE scim_tokens DROP COLUMN dry_run;
