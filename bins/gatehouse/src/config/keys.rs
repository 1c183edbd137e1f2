//! The settings of the server.

/// Prefix of the environment variables.
pub const PREFIX: &str = "GATEHOUSE_";

/// Environment variable with the path of the configuration file.
pub const FILE_VARIABLE: &str = "GATEHOUSE_CONFIG_FILE";

/// A setting as it is documented.
pub struct Key {
    /// Key in the file. Its environment variable is the name in capitals after [`PREFIX`].
    pub name: &'static str,
    /// Default, as documented.
    pub default: &'static str,
    /// Meaning, as documented.
    pub help: &'static str,
}

/// Settings that contain a secret. Each can be read from a separate file, named by `…_file`.
pub const SECRETS: [&str; 4] = ["database_url", "auth_secret", "master_key", "smtp_url"];

/// All settings.
pub const KEYS: &[Key] = &[
    Key {
        name: "database_url",
        default: "sqlite:{data_dir}/gatehouse.db",
        help: "Database: `sqlite:PATH` or `postgres://user:password@host/database`, which may end with `?` and the parameters `sslmode`, `sslrootcert`, `sslcert` and `sslkey`.",
    },
    Key {
        name: "bind",
        default: "127.0.0.1:8080",
        help: "Address and port to listen on. Port 0 picks a free port.",
    },
    Key {
        name: "base_url",
        default: "`http://localhost:{port}` if `bind` is a loopback address, else `http://{bind}`; `https` with `tls_cert`",
        help: "Origin at which clients reach the server, without a final slash. Set it if `bind` is `0.0.0.0` or `[::]`: otherwise printed links do not open. With `https`, responses carry HSTS.",
    },
    Key {
        name: "data_dir",
        default: "data",
        help: "Directory of the SQLite database and of secrets that the first start generates, relative to the current directory.",
    },
    Key {
        name: "auth_secret",
        default: "generated at the first start in `{data_dir}/secrets.toml` (SQLite only)",
        help: "Encrypts session cookies. One or more secrets of at least 32 characters (UTF-8), separated by commas, newest first.",
    },
    Key {
        name: "master_key",
        default: "generated at the first start in `{data_dir}/secrets.toml` (SQLite only)",
        help: "Key from which the server derives its other keys: base64 of 32 bytes, or `id:key,id:key`, newest first.",
    },
    Key {
        name: "trusted_proxies",
        default: "none",
        help: "Addresses or CIDR ranges of proxies whose forwarding header is trusted, separated by commas.",
    },
    Key {
        name: "proxy_header",
        default: "X-Forwarded-For",
        help: "Header that trusted proxies set: `X-Forwarded-For` or `Forwarded`. The other is ignored.",
    },
    Key {
        name: "session_cookie",
        default: "authjs.session-token",
        help: "Name of the session cookie: `authjs.session-token` or `__Secure-authjs.session-token`. The server reads both.",
    },
    Key {
        name: "password_cost",
        default: "19456,2,1",
        help: "Cost of hashing a password with argon2id: memory in KiB, iterations, parallelism. Passwords with another cost are rehashed at the next sign-in.",
    },
    Key {
        name: "breached_passwords",
        default: "none",
        help: "File of leaked passwords that users cannot choose: SHA-1 hashes in hexadecimal, in order, one per line, as Have I Been Pwned offers them.",
    },
    Key {
        name: "smtp_url",
        default: "none: links are returned to the caller instead",
        help: "Mail server: `smtps://user:password@host`, `smtp://host:587?tls=required`, or `smtp://127.0.0.1:25` without TLS.",
    },
    Key { name: "smtp_from", default: "Gatehouse <no-reply@{host of base_url}>", help: "Sender of mail." },
    Key {
        name: "geo_database",
        default: "none: sessions have no location",
        help: "MaxMind city database, to show the location of a session.",
    },
    Key {
        name: "metrics_bind",
        default: "none: `/metrics` on `bind`, for loopback clients only",
        help: "Address and port that serve only `/metrics`, without authentication. If unset, only a loopback client whose request was not forwarded by a proxy can read it.",
    },
    Key {
        name: "scim_rates",
        default: "25,100,400",
        help: "SCIM requests per second and instance of a FREE, STANDARD and ENTERPRISE tenant. The burst is twice that.",
    },
    Key {
        name: "attestation_metadata",
        default: "none",
        help: "File with the FIDO Alliance's metadata (MDS3), which proves authenticator models. Reloaded when it changes.",
    },
    Key {
        name: "attestation_metadata_root",
        default: "the root certificate of the FIDO Alliance",
        help: "PEM file with the root certificate of the metadata's signer.",
    },
    Key {
        name: "attestation_metadata_signer",
        default: "mds.fidoalliance.org",
        help: "Name that the certificate of the metadata's signer must contain.",
    },
    Key {
        name: "attestation_roots",
        default: "none",
        help: "Directory of PEM files (`*.pem`) that prove authenticator models: a file named after an AAGUID proves that model, any other file proves all. Reloaded when it changes.",
    },
    Key {
        name: "tls_cert",
        default: "none: plain HTTP",
        help: "PEM file with the server's certificate and its intermediates. Reloaded when it changes.",
    },
    Key { name: "tls_key", default: "none", help: "PEM file with the private key of the certificate." },
    Key {
        name: "drain_seconds",
        default: "5",
        help: "Seconds after SIGTERM during which the server accepts requests while `/readyz` reports that it is not ready.",
    },
    Key {
        name: "audit_export_seconds",
        default: "300",
        help: "Seconds that one export of the audit log may take: 1 to 3600. After that the server closes its connection. During an export PostgreSQL cannot remove dead rows (`VACUUM`).",
    },
    Key {
        name: "max_in_flight",
        default: "64 per worker thread",
        help: "Requests processed at the same time in a burst; a quarter of it if the load lasts over 100 ms. More get 503 with `Retry-After`.",
    },
    Key {
        name: "max_bodies_per_address",
        default: "64",
        help: "Unfinished request bodies per client address (IPv6: per /64). More get 429. Raise it if many clients share an address.",
    },
    Key {
        name: "max_body_memory_mib",
        default: "64",
        help: "MiB that all request bodies may use together; one address may use a quarter. Above it, bodies of the address that uses most get 503.",
    },
    Key {
        name: "max_connections_per_address",
        default: "1024",
        help: "Connections per peer address (IPv6: per /64) that is not a trusted proxy. One more closes the connection that was idle longest.",
    },
    Key { name: "database_pool", default: "5", help: "PostgreSQL connections per worker thread." },
    Key {
        name: "otlp_endpoint",
        default: "none",
        help: "URL that receives traces by OTLP over HTTP, such as `http://127.0.0.1:4318`. Requires a build with the feature `otlp`.",
    },
    Key {
        name: "role",
        default: "all",
        help: "Role of the instance: `api` answers requests; `worker` delivers webhooks, seals audit logs and refreshes metadata of identity providers; `all` does both.",
    },
    Key {
        name: "audit_accept_missing_macs_until",
        default: "none",
        help: "RFC 3339 time until which audit entries without a MAC are sealed. Only for an upgrade from a version that wrote no MACs.",
    },
    Key {
        name: "webhooks_allow_cidrs",
        default: "none: public addresses only",
        help: "Non-public addresses or CIDR ranges that webhooks and other tenant-chosen requests may reach, separated by commas.",
    },
    Key {
        name: "webhooks_allow_http",
        default: "false",
        help: "Whether webhooks may use `http` URLs. For development.",
    },
    Key {
        name: "webhooks_ca_file",
        default: "none: certificate authorities of the operating system",
        help: "PEM file with further certificate authorities that webhooks and other tenant-chosen requests trust, such as metadata of an identity provider in a private network.",
    },
    Key {
        name: "return_origins",
        default: "none",
        help: "Origins besides `base_url` to which a sign-in may return, separated by commas, such as `https://app.example.com`.",
    },
    Key {
        name: "device_bound_sessions",
        default: "false",
        help: "Whether browsers that can do so bind their session to a key of the device. Copied cookies are then useless after 10 minutes. Needs `https` in `base_url`.",
    },
    Key {
        name: "webauthn_related_origins",
        default: "none",
        help: "Origins besides `base_url` at which passkeys of this server can be used, separated by commas. Browsers accept at least five domains.",
    },
    Key {
        name: "webhooks_in_flight",
        default: "4",
        help: "Concurrent deliveries per webhook: 1 to 32. A tenant may have 16 times as many, at most 64.",
    },
    Key { name: "webhooks_rate", default: "none: no limit", help: "Deliveries per second and webhook." },
    Key {
        name: "dns_servers",
        default: "those of `/etc/resolv.conf`",
        help: "DNS servers that look up domain verification records: addresses with optional port, separated by commas, such as `10.0.0.53,[::1]:5353`.",
    },
    Key { name: "workers", default: "one per processor", help: "Worker threads that answer requests." },
    Key {
        name: "log_format",
        default: "json",
        help: "`json`, one object per line, or `pretty` for reading in a terminal.",
    },
    Key {
        name: "log_level",
        default: "info",
        help: "`error`, `warn`, `info` (one line per request), `debug` or `trace`.",
    },
];
