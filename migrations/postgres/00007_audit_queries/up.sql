-- Indexes for searching entries by time, actor, action and resource. IDs are compared bytewise, in cursors too.

ALTER TABLE audit_entries ALTER COLUMN id TYPE TEXT COLLATE "C";
CREATE INDEX audit_entries_time ON audit_entries (tenant_id, created_at, id);
CREATE INDEX audit_entries_actor ON audit_entries (tenant_id, actor_id, created_at, id);
CREATE INDEX audit_entries_action ON audit_entries (tenant_id, action, created_at, id);
CREATE INDEX audit_entries_resource ON audit_entries (tenant_id, resource_id, created_at, id);
