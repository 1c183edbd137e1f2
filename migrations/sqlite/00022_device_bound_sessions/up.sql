-- The key of the browser that a session is bound to, as JSON, and its SHA-256 thumbprint (RFC 7638).
ALTER TABLE sessions ADD COLUMN device JSON;
ALTER TABLE sessions ADD COLUMN device_thumbprint BLOB;
CREATE INDEX sessions_device ON sessions (tenant_id, device_thumbprint) WHERE device_thumbprint IS NOT NULL;

-- Statistics for the query planner (see 00002).
INSERT INTO sqlite_stat1 (tbl, idx, stat) VALUES ('sessions', 'sessions_device', '1000000 100000 1');
ANALYZE sqlite_schema;
