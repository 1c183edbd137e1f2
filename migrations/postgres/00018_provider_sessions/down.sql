DROP INDEX sessions_logout_hint;
DROP INDEX sessions_provider_session;
DROP INDEX sessions_provider_subject;
ALTER TABLE sessions DROP COLUMN logout_hint;
ALTER TABLE sessions DROP COLUMN provider_session;
ALTER TABLE sessions DROP COLUMN provider_subject;
ALTER TABLE sessions DROP COLUMN provider_id;
