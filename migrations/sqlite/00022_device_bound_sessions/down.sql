DROP INDEX sessions_device;
ALTER TABLE sessions DROP COLUMN device_thumbprint;
ALTER TABLE sessions DROP COLUMN device;
