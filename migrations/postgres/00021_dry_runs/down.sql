DROP TABLE dry_run_changes;
ALTER TABLE scim_tokens DROP COLUMN dry_run;
