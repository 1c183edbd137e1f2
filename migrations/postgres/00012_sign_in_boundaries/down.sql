DROP TABLE wrong_codes;
DROP TABLE password_salts;
DROP INDEX sessions_foreign_hash;
