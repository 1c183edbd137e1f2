DROP INDEX verified_domains_due;
ALTER TABLE verified_domains DROP COLUMN missing_since;
ALTER TABLE verified_domains DROP COLUMN due_at;
DROP TABLE saml_subjects;
