-- Who may do what in a database of Gatehouse on PostgreSQL.
--
-- Three roles: the owner, who runs `gatehouse migrate` and is used for nothing else; the one that servers and commands run as,
-- which cannot change or remove what the audit log says; and the one that may drop entries whose time is over and erase
-- addresses (`gatehouse audit retain`, `drop` and `erase`). Make the two roles with their passwords first. Run this as the owner, again
-- after each migration:
--
--   psql -v app=gatehouse_app -v retention=gatehouse_retention -f roles.sql postgres://owner@host/gatehouse

\set ON_ERROR_STOP on
BEGIN;

REVOKE ALL ON ALL TABLES IN SCHEMA public FROM :"app", :"retention";
GRANT USAGE ON SCHEMA public TO :"app", :"retention";

GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO :"app";
REVOKE INSERT, UPDATE, DELETE ON __diesel_schema_migrations FROM :"app";
-- Entries are written once. Only what waits for its place goes away, and only how far a log is changes.
REVOKE UPDATE, DELETE ON audit_entries, audit_sealed, audit_subtrees, audit_checkpoints FROM :"app";
-- Statements about retention and removals are signed by the commands of the other role.
REVOKE INSERT, UPDATE, DELETE ON audit_statements FROM :"app";
REVOKE UPDATE ON audit_unsealed FROM :"app";
REVOKE DELETE ON audit_logs FROM :"app";
REVOKE INSERT, UPDATE, DELETE ON audit_drops FROM :"app";
-- Only the retention role may change how long entries are kept.
REVOKE UPDATE ON tenants FROM :"app";
GRANT UPDATE (slug, name, tier, sign_in_policy, network_policy, attestation_policy) ON tenants TO :"app";

GRANT SELECT ON __diesel_schema_migrations, tenants, audit_entries, audit_unsealed, audit_sealed, audit_subtrees, audit_logs,
    audit_checkpoints, audit_drops, audit_statements TO :"retention";
-- The retention role records its own actions in the audit log.
GRANT INSERT ON audit_entries, audit_unsealed, audit_drops, audit_statements TO :"retention";
-- The statement that queues an entry for sealing also creates its webhook deliveries: it reads the routes and returns
-- the subscriptions.
GRANT SELECT ON webhook_routes TO :"retention";
GRANT INSERT, SELECT (subscription_id) ON webhook_deliveries TO :"retention";
GRANT DELETE ON audit_entries, audit_sealed TO :"retention";
GRANT UPDATE (ip, salt, ip_commitment) ON audit_entries TO :"retention";
GRANT UPDATE (audit_days) ON tenants TO :"retention";

COMMIT;
