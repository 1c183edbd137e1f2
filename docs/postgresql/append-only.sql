-- Optional. Makes the audit log append-only for every role on PostgreSQL, including the owner of the tables, until the
-- triggers are dropped. On SQLite the migrations create such triggers. Run it once, as the owner:
--
--   psql -f append-only.sql postgres://owner@host/gatehouse
--
-- Distributed databases without triggers cannot use it. There, roles.sql protects the audit log.

\set ON_ERROR_STOP on
BEGIN;

CREATE OR REPLACE FUNCTION audit_refuse() RETURNS trigger LANGUAGE plpgsql
SET search_path = pg_catalog, public, pg_temp AS $$
BEGIN
    RAISE EXCEPTION '% of the audit log: nothing is changed or deleted', TG_TABLE_NAME USING ERRCODE = 'insufficient_privilege';
END $$;

-- Two changes of entries are allowed: erasing an address while its commitment stays, and purging after a signed statement.
CREATE OR REPLACE FUNCTION audit_entries_stay() RETURNS trigger LANGUAGE plpgsql
SET search_path = pg_catalog, public, pg_temp AS $$
BEGIN
    IF TG_OP = 'UPDATE' THEN
        IF NEW.ip IS NULL AND NEW.salt IS NULL AND NEW.ip_commitment IS NOT NULL AND OLD.ip IS NOT NULL
            AND (NEW.tenant_id, NEW.id, NEW.created_at, NEW.actor_type, NEW.actor_id, NEW.action, NEW.resource_type,
                NEW.resource_id, NEW.metadata::text, NEW.leaf, NEW.mac_key, NEW.mac)
            IS NOT DISTINCT FROM (OLD.tenant_id, OLD.id, OLD.created_at, OLD.actor_type, OLD.actor_id, OLD.action,
                OLD.resource_type, OLD.resource_id, OLD.metadata::text, OLD.leaf, OLD.mac_key, OLD.mac)
        THEN
            RETURN NEW;
        END IF;
        RAISE EXCEPTION 'entries of the audit log are not changed' USING ERRCODE = 'insufficient_privilege';
    END IF;
    IF EXISTS (
        SELECT FROM audit_sealed sealed JOIN audit_drops dropped
            ON dropped.tenant_id = sealed.tenant_id AND dropped.before_sequence > sealed.sequence
        WHERE sealed.tenant_id = OLD.tenant_id AND sealed.entry_id = OLD.id
    ) THEN
        RETURN OLD;
    END IF;
    RAISE EXCEPTION 'entries of the audit log are not deleted' USING ERRCODE = 'insufficient_privilege';
END $$;

CREATE OR REPLACE FUNCTION audit_sealed_stay() RETURNS trigger LANGUAGE plpgsql
SET search_path = pg_catalog, public, pg_temp AS $$
BEGIN
    IF EXISTS (SELECT FROM audit_drops WHERE tenant_id = OLD.tenant_id AND before_sequence > OLD.sequence) THEN
        RETURN OLD;
    END IF;
    RAISE EXCEPTION 'places of the audit log are not deleted' USING ERRCODE = 'insufficient_privilege';
END $$;

CREATE OR REPLACE FUNCTION audit_unsealed_wait() RETURNS trigger LANGUAGE plpgsql
SET search_path = pg_catalog, public, pg_temp AS $$
BEGIN
    IF EXISTS (SELECT FROM audit_sealed WHERE tenant_id = OLD.tenant_id AND entry_id = OLD.entry_id) THEN
        RETURN OLD;
    END IF;
    RAISE EXCEPTION 'entries of the audit log wait for their place' USING ERRCODE = 'insufficient_privilege';
END $$;

CREATE OR REPLACE FUNCTION audit_logs_grow() RETURNS trigger LANGUAGE plpgsql
SET search_path = pg_catalog, public, pg_temp AS $$
BEGIN
    IF TG_OP = 'UPDATE' AND NEW.size >= OLD.size AND NEW.tenant_id = OLD.tenant_id THEN
        RETURN NEW;
    END IF;
    RAISE EXCEPTION 'audit logs grow' USING ERRCODE = 'insufficient_privilege';
END $$;

CREATE OR REPLACE TRIGGER stay BEFORE UPDATE OR DELETE ON audit_entries FOR EACH ROW EXECUTE FUNCTION audit_entries_stay();
CREATE OR REPLACE TRIGGER stay BEFORE DELETE ON audit_sealed FOR EACH ROW EXECUTE FUNCTION audit_sealed_stay();
CREATE OR REPLACE TRIGGER stay_as_they_are BEFORE UPDATE ON audit_sealed FOR EACH ROW EXECUTE FUNCTION audit_refuse();
CREATE OR REPLACE TRIGGER wait BEFORE DELETE ON audit_unsealed FOR EACH ROW EXECUTE FUNCTION audit_unsealed_wait();
CREATE OR REPLACE TRIGGER wait_as_they_are BEFORE UPDATE ON audit_unsealed FOR EACH ROW EXECUTE FUNCTION audit_refuse();
CREATE OR REPLACE TRIGGER grow BEFORE UPDATE OR DELETE ON audit_logs FOR EACH ROW EXECUTE FUNCTION audit_logs_grow();
CREATE OR REPLACE TRIGGER stay BEFORE UPDATE OR DELETE ON audit_subtrees FOR EACH ROW EXECUTE FUNCTION audit_refuse();
CREATE OR REPLACE TRIGGER stay BEFORE UPDATE OR DELETE ON audit_checkpoints FOR EACH ROW EXECUTE FUNCTION audit_refuse();
CREATE OR REPLACE TRIGGER stay BEFORE UPDATE OR DELETE ON audit_drops FOR EACH ROW EXECUTE FUNCTION audit_refuse();
CREATE OR REPLACE TRIGGER stay BEFORE UPDATE OR DELETE ON audit_statements FOR EACH ROW EXECUTE FUNCTION audit_refuse();

DO $$
DECLARE name text;
BEGIN
    FOREACH name IN ARRAY ARRAY['audit_entries', 'audit_unsealed', 'audit_sealed', 'audit_subtrees', 'audit_logs',
        'audit_checkpoints', 'audit_drops', 'audit_statements']
    LOOP
        EXECUTE format('CREATE OR REPLACE TRIGGER stay_whole BEFORE TRUNCATE ON %I EXECUTE FUNCTION audit_refuse()', name);
    END LOOP;
END $$;

COMMIT;
