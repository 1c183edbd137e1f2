DROP TABLE audit_statements;
ALTER TABLE audit_logs DROP COLUMN mac_start;
ALTER TABLE audit_entries DROP COLUMN mac;
ALTER TABLE audit_entries DROP COLUMN mac_key;
