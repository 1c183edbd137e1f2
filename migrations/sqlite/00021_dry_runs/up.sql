-- SCIM tokens whose changes are kept beside the tenant's users and groups instead of being made.

ALTER TABLE scim_tokens ADD COLUMN dry_run BOOLEAN NOT NULL DEFAULT FALSE;

-- The changes of a dry run. `kind` is USER or GROUP, with the resource as it would be in `document`, NULL for a deleted one; or
-- JOINED or LEFT, with the group in `id` and the user in `member`, which is empty otherwise.
CREATE TABLE dry_run_changes (
    tenant_id TEXT NOT NULL,
    token_id TEXT NOT NULL,
    kind TEXT NOT NULL,
    id TEXT NOT NULL,
    member TEXT NOT NULL,
    document TEXT,
    PRIMARY KEY (tenant_id, token_id, kind, id, member)
) WITHOUT ROWID;

-- Statistics for the query planner (see 00002).
INSERT INTO sqlite_stat1 (tbl, idx, stat) VALUES ('dry_run_changes', 'dry_run_changes', '1000000 1000 100 50 1 1');
ANALYZE sqlite_schema;
