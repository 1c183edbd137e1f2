-- Roles of a Gatehouse database on PostgreSQL:
--
-- * the owner runs `gatehouse migrate` and nothing else;
-- * the application role runs servers and commands. It cannot change or delete audit entries;
-- * the retention role purges expired entries and erases addresses (`gatehouse audit retain`, `purge`
--   and `erase`), and signs audit logs again before a master key is retired (`gatehouse keys retire`).
--
-- Create the last two with their passwords first. Run this script as the owner, and again after each migration:
--
--   psql -v app=gatehouse_app -v retention=gatehouse_retention -f roles.sql postgres://owner@host/gatehouse

\set ON_ERROR_STOP on
BEGIN;

REVOKE ALL ON ALL TABLES IN SCHEMA public FROM :"app", :"retention";
GRANT USAGE ON SCHEMA public TO :"app", :"retention";

GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO :"app";
REVOKE INSERT, UPDATE, DELETE ON __diesel_schema_migrations FROM :"app";
-- Entries are only inserted. Only the queue of unsealed entries shrinks, and only the size of a log changes.
REVOKE UPDATE, DELETE ON audit_entries, audit_sealed, audit_subtrees, audit_checkpoints FROM :"app";
-- Statements about retention and removals are signed by the commands of the other role.
REVOKE INSERT, UPDATE, DELETE ON audit_statements FROM :"app";
REVOKE UPDATE ON audit_unsealed FROM :"app";
REVOKE DELETE ON audit_logs FROM :"app";
REVOKE INSERT, UPDATE, DELETE ON audit_drops FROM :"app";
-- Only the retention role may change how long entries are kept.
REVOKE UPDATE ON tenants FROM :"app";
GRANT UPDATE (slug, name, tier, sign_in_policy, network_policy, attestation_policy) ON tenants TO :"app";

GRANT SELECT ON __diesel_schema_migrations, tenants, tenant_slugs, audit_entries, audit_unsealed, audit_sealed, audit_subtrees, audit_logs,
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
