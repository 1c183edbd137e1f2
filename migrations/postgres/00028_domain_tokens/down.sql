ALTER TABLE verified_domains DROP COLUMN token;
