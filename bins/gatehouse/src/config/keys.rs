//! The settings there are.

/// What the variables begin with.
pub const PREFIX: &str = "GATEHOUSE_";

/// The variable that names the file, which is no setting of its own.
pub const FILE_VARIABLE: &str = "GATEHOUSE_CONFIG_FILE";

/// A setting as it is documented.
pub struct Key {
    /// Its name in the file; in capitals behind [`PREFIX`] it is the variable.
    pub name: &'static str,
    /// What it is when nobody says.
    pub default: &'static str,
    /// What it does, for `docs/configuration.md`.
    pub help: &'static str,
}

/// Settings that are secrets, or hold one: each may be in a file of its own, named by `…_file`.
pub const SECRETS: [&str; 4] = ["database_url", "auth_secret", "master_key", "smtp_url"];

/// All settings.
pub const KEYS: &[Key] = &[
    Key {
        name: "database_url",
        default: "sqlite:{data_dir}/gatehouse.db",
        help: "Where the data is: `sqlite:PATH` or `postgres://user:password@host/database`.",
    },
    Key {
        name: "bind",
        default: "127.0.0.1:8080",
        help: "Address and port to listen on; port 0 takes a free one.",
    },
    Key {
        name: "base_url",
        default: "http://localhost:{port} where `bind` is a loopback address, else http://{bind}",
        help: "What clients see before the path: scheme, host, port if any; no final slash. With `https` answers carry HSTS.",
    },
    Key {
        name: "data_dir",
        default: "data",
        help: "Folder for the SQLite database and for secrets made at the first start.",
    },
    Key {
        name: "auth_secret",
        default: "made at the first start in `{data_dir}/secrets.toml` (SQLite only)",
        help: "Signs sessions: one or more, separated by commas, newest first, each of at least 32 characters, used as UTF-8 bytes.",
    },
    Key {
        name: "master_key",
        default: "made at the first start in `{data_dir}/secrets.toml` (SQLite only)",
        help: "What other keys are derived from: base64 of 32 bytes, or `id:key,id:key`, newest first.",
    },
    Key {
        name: "trusted_proxies",
        default: "none",
        help: "Addresses or ranges of proxies whose word about the client's address counts, separated by commas.",
    },
    Key {
        name: "proxy_header",
        default: "X-Forwarded-For",
        help: "The one header that trusted proxies write: `X-Forwarded-For` or `Forwarded`. The other is ignored.",
    },
    Key {
        name: "session_cookie",
        default: "authjs.session-token",
        help: "The name under which the session's cookie is set: `authjs.session-token` or `__Secure-authjs.session-token`. Both are read.",
    },
    Key {
        name: "password_cost",
        default: "19456,2,1",
        help: "What hashing a password costs (argon2id): KiB of memory, passes, lanes. Older hashes are made anew at the next sign-in.",
    },
    Key {
        name: "smtp_url",
        default: "none: links are shown to whoever makes them",
        help: "Where mail goes: `smtps://user:password@host`, `smtp://host:587?tls=required`, or `smtp://127.0.0.1:25` without TLS.",
    },
    Key { name: "smtp_from", default: "Gatehouse <no-reply@{host of base_url}>", help: "Who mail is from." },
    Key {
        name: "geo_database",
        default: "none: no places are shown",
        help: "A file in MaxMind's format with cities, for the place of a session.",
    },
    Key {
        name: "metrics_bind",
        default: "none: `/metrics` is on the server's own address, for this machine alone",
        help: "Address and port for `/metrics` alone, which then is nowhere else; it needs no credential. Without it, only a loopback peer whose request no proxy forwards gets an answer.",
    },
    Key {
        name: "scim_rates",
        default: "25,100,400",
        help: "SCIM requests a second of a FREE, a STANDARD and an ENTERPRISE tenant, on each instance; twice that at once.",
    },
    Key {
        name: "attestation_metadata",
        default: "none",
        help: "File with the FIDO Alliance's metadata of authenticators (MDS3), which proves their makes. Read again when it changes.",
    },
    Key {
        name: "attestation_metadata_root",
        default: "the FIDO Alliance's",
        help: "File with the root that has to have certified the signer of the metadata, in PEM.",
    },
    Key {
        name: "attestation_metadata_signer",
        default: "mds.fidoalliance.org",
        help: "The name that has to stand in the certificate of the metadata's signer.",
    },
    Key {
        name: "attestation_roots",
        default: "none",
        help: "Folder of files (`*.pem`) with certificates that prove makes of authenticators: one named by a make's AAGUID that make, others any. Read again when it changes.",
    },
    Key {
        name: "tls_cert",
        default: "none: plain HTTP",
        help: "File with the server's certificate and those between it and the root, in PEM. Read again when it changes.",
    },
    Key { name: "tls_key", default: "none", help: "File with the certificate's private key, in PEM." },
    Key {
        name: "drain_seconds",
        default: "5",
        help: "On SIGTERM, how long requests are still taken while `/readyz` already says no.",
    },
    Key {
        name: "audit_export_seconds",
        default: "300",
        help: "How long one export of the audit log may take, 1 to 3600; then it ends and its connection is cut. The database keeps all that changes meanwhile.",
    },
    Key {
        name: "max_in_flight",
        default: "64 for each worker",
        help: "Requests worked on at the same time at most, an eighth of it while there are so many for longer than 100 ms; more are refused at once, with 503 and `Retry-After`.",
    },
    Key {
        name: "max_bodies_per_address",
        default: "64",
        help: "Unfinished request bodies of one client address (IPv6: of its /64); more get 429. Raise it where many clients share an address.",
    },
    Key {
        name: "max_body_memory_mib",
        default: "64",
        help: "MiB that all request bodies may hold; one address may hold a quarter of it. Above it, bodies of the address that holds the most get 503.",
    },
    Key {
        name: "max_connections_per_address",
        default: "1024",
        help: "Connections of one peer address (IPv6: of its /64) that is no trusted proxy; one more closes the connection that was idle longest.",
    },
    Key { name: "database_pool", default: "5", help: "PostgreSQL connections of each worker at most." },
    Key {
        name: "otlp_endpoint",
        default: "none",
        help: "Where spans go by OTLP over HTTP, such as `http://127.0.0.1:4318`; needs a program built with the feature `otlp`.",
    },
    Key {
        name: "role",
        default: "all",
        help: "What an instance does: `api` answers requests, `worker` delivers webhooks, seals audit logs and looks after identity providers, `all` does both.",
    },
    Key {
        name: "audit_accept_missing_macs_until",
        default: "none: never",
        help: "Until when entries without a MAC are sealed into the audit log (RFC 3339): for servers of a version before, which wrote none, during an upgrade.",
    },
    Key {
        name: "webhooks_allow_cidrs",
        default: "none: public addresses alone",
        help: "Addresses or ranges, separated by commas, that webhooks and other requests of tenants' choosing may go to although they are not public.",
    },
    Key {
        name: "webhooks_allow_http",
        default: "false",
        help: "Whether webhooks may go to `http` addresses: for development.",
    },
    Key {
        name: "return_origins",
        default: "none: this service alone",
        help: "Origins beside `base_url` that a sign-in may lead back to, separated by commas, such as `https://app.example.com`.",
    },
    Key {
        name: "webhooks_in_flight",
        default: "4",
        help: "Deliveries to one subscription at the same time, 1 to 32; 16 times as many to one tenant, 64 at most.",
    },
    Key {
        name: "webhooks_rate",
        default: "none: no limit",
        help: "Deliveries to one subscription in a second at most.",
    },
    Key {
        name: "dns_servers",
        default: "those of the system (`/etc/resolv.conf`)",
        help: "Where records that prove domains are looked up: addresses with or without a port, separated by commas, such as `10.0.0.53,[::1]:5353`.",
    },
    Key { name: "workers", default: "one a processor", help: "Threads that answer requests." },
    Key { name: "log_format", default: "json", help: "`json`, one object a line, or `pretty` for people." },
    Key {
        name: "log_level",
        default: "info",
        help: "`error`, `warn`, `info` (a line a request), `debug` or `trace`.",
    },
];
