-- Entries are found by time, by who acted, by what happened and by what it was about. Ids are compared by their bytes,
-- in pages as everywhere.

ALTER TABLE audit_entries ALTER COLUMN id TYPE TEXT COLLATE "C";
CREATE INDEX audit_entries_time ON audit_entries (tenant_id, created_at, id);
CREATE INDEX audit_entries_actor ON audit_entries (tenant_id, actor_id, created_at, id);
CREATE INDEX audit_entries_action ON audit_entries (tenant_id, action, created_at, id);
CREATE INDEX audit_entries_resource ON audit_entries (tenant_id, resource_id, created_at, id);
