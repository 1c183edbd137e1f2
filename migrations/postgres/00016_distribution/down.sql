DROP TABLE dispatchers;
ALTER TABLE wrong_codes ALTER COLUMN tenant_id TYPE TEXT COLLATE "C";
DROP TABLE tenant_slugs;
