-- Roles besides ADMIN and MEMBER, and the rules that give them to groups.

-- The assigned role of a user with `role` MEMBER, if it is another one. Older servers see such users as members.
ALTER TABLE users ADD COLUMN other_role TEXT COLLATE "C";
CREATE INDEX users_other_role ON users (tenant_id, other_role) WHERE other_role IS NOT NULL;

-- The roles that a tenant defines. `permissions` is a list of names, separated by spaces.
CREATE TABLE roles (
    tenant_id TEXT NOT NULL,
    id TEXT COLLATE "C" NOT NULL,
    name TEXT NOT NULL,
    name_key TEXT COLLATE "C" NOT NULL,
    description TEXT,
    permissions TEXT NOT NULL,
    created_at TIMESTAMP NOT NULL,
    updated_at TIMESTAMP NOT NULL,
    PRIMARY KEY (tenant_id, id)
);
CREATE UNIQUE INDEX roles_name ON roles (tenant_id, name_key);

-- A rule gives its role to the members of a group, or to the users whose last sign-in through a provider named a group. No
-- foreign keys: a rule without its group or provider has no effect.
CREATE TABLE role_rules (
    tenant_id TEXT NOT NULL,
    id TEXT COLLATE "C" NOT NULL,
    role TEXT COLLATE "C" NOT NULL,
    group_id TEXT COLLATE "C",
    provider_id TEXT COLLATE "C",
    value TEXT COLLATE "C",
    created_at TIMESTAMP NOT NULL,
    PRIMARY KEY (tenant_id, id)
);
CREATE UNIQUE INDEX role_rules_group ON role_rules (tenant_id, group_id, role) WHERE group_id IS NOT NULL;
CREATE UNIQUE INDEX role_rules_claim ON role_rules (tenant_id, provider_id, value, role) WHERE provider_id IS NOT NULL;

-- What sign-ins through an SSO connection do with accounts. `new_user_role` NULL: no users are created.
CREATE TABLE connection_accounts (
    tenant_id TEXT NOT NULL,
    provider_id TEXT COLLATE "C" NOT NULL,
    groups_claim TEXT,
    new_user_role TEXT COLLATE "C",
    -- Domains, separated by spaces; empty for all domains of the connection.
    new_user_domains TEXT,
    PRIMARY KEY (tenant_id, provider_id)
);

-- The groups that a user's last sign-in through a provider named.
CREATE TABLE claimed_groups (
    tenant_id TEXT NOT NULL,
    user_id TEXT COLLATE "C" NOT NULL,
    provider_id TEXT COLLATE "C" NOT NULL,
    value TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (tenant_id, user_id, provider_id, value)
);
CREATE INDEX claimed_groups_value ON claimed_groups (tenant_id, provider_id, value, user_id);
