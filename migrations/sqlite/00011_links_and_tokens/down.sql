DROP INDEX step_up_tokens_issued;
ALTER TABLE links DROP COLUMN role;
ALTER TABLE links DROP COLUMN email_key;
