-- The key of the browser that a session is bound to, as JSON, and its SHA-256 thumbprint (RFC 7638).
ALTER TABLE sessions ADD COLUMN device JSON;
ALTER TABLE sessions ADD COLUMN device_thumbprint BYTEA;
CREATE INDEX sessions_device ON sessions (tenant_id, device_thumbprint) WHERE device_thumbprint IS NOT NULL;
