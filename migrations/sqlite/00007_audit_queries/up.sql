-- Indexes for searching entries by time, actor, action and resource.

CREATE INDEX audit_entries_time ON audit_entries (tenant_id, created_at, id);
CREATE INDEX audit_entries_actor ON audit_entries (tenant_id, actor_id, created_at, id);
CREATE INDEX audit_entries_action ON audit_entries (tenant_id, action, created_at, id);
CREATE INDEX audit_entries_resource ON audit_entries (tenant_id, resource_id, created_at, id);

-- Statistics for the query planner (see 00002).
INSERT INTO sqlite_stat1 (tbl, idx, stat) VALUES
    ('audit_entries', 'audit_entries_time', '5000000 500000 2 1'),
    ('audit_entries', 'audit_entries_actor', '5000000 500000 500 2 1'),
    ('audit_entries', 'audit_entries_action', '5000000 500000 10000 2 1'),
    ('audit_entries', 'audit_entries_resource', '5000000 500000 20 2 1');
ANALYZE sqlite_schema;
