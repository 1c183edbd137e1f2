DROP INDEX audit_entries_time;
DROP INDEX audit_entries_actor;
DROP INDEX audit_entries_action;
DROP INDEX audit_entries_resource;
ALTER TABLE audit_entries ALTER COLUMN id TYPE TEXT;
