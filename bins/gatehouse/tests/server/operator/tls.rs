//! TLS of the server, and of its database connection.

use std::{
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    process::Command,
    time::Duration,
};

use store::testing::Kind;

use crate::support::{Caller, Process, server_certificate};

/// Creates a certificate for this machine where the server expects it. Returns its root.
fn put_certificate(folder: &Path) -> PathBuf {
    let (cert, key) = server_certificate();
    std::fs::write(folder.join("key.pem"), key).unwrap();
    std::fs::write(folder.join("cert.pem"), &cert).unwrap();
    let root = folder.join("root.pem");
    std::fs::write(&root, &cert).unwrap();
    root
}

/// Sends a request with curl, which trusts only this root. Returns the output, or `None` if verification failed.
fn curl(root: &Path, port: u16, path: &str) -> Option<String> {
    let mut curl = Command::new("curl");
    curl.args(["-sS", "-m", "10", "--noproxy", "*", "-w", " %{http_version} %{http_code}", "--cacert"]);
    let output = curl.arg(root).arg(format!("https://localhost:{port}{path}")).output().unwrap();
    output.status.success().then(|| String::from_utf8(output.stdout).unwrap())
}

#[test]
fn certificate_is_served_and_reloaded_while_the_server_runs() {
    let mut process = Process::on(Kind::Sqlite, &[]);
    let root = put_certificate(process.path());
    process.set("GATEHOUSE_TLS_CERT", "cert.pem");
    process.set("GATEHOUSE_TLS_KEY", "key.pem");
    process.tenant("acme");
    let mut server = process.serve();
    let port = server.address.port();
    assert_eq!(curl(&root, port, "/healthz").unwrap(), r#"{"status":"ok"} 2 200"#);
    let openapi = curl(&root, port, "/api/scim/v2/ServiceProviderConfig").unwrap();
    assert!(openapi.contains(&format!("https://localhost:{port}/api/scim")), "{openapi}");

    let old = process.path().join("old.pem");
    std::fs::rename(&root, &old).unwrap();
    let root = put_certificate(process.path());
    super::until("the new certificate is served", Duration::from_secs(5), || {
        curl(&root, port, "/healthz").is_some()
    });
    assert_eq!(curl(&old, port, "/healthz"), None);

    std::fs::write(process.path().join("cert.pem"), "nonsense").unwrap();
    super::until("the problem is logged", Duration::from_secs(5), || server.log().contains("cannot load"));
    assert!(curl(&root, port, "/healthz").is_some(), "the known certificate remains in use");
    let metrics = curl(&root, port, "/metrics").unwrap();
    assert!(metrics.contains("gatehouse_tls_certificate_ends_timestamp_seconds "), "{metrics}");
    assert_eq!(server.terminate().0, Some(0));
}

/// Connects with TLS 1.2 and these suites. Returns the suite that the server chose, or `None` if it refused all.
fn chosen_suite(root: &Path, port: u16, suites: &str) -> Option<String> {
    let mut curl = Command::new("curl");
    curl.args(["-sSv", "-m", "10", "--noproxy", "*", "--tls-max", "1.2", "--ciphers", suites, "--cacert"]);
    let output = curl.arg(root).arg(format!("https://localhost:{port}/healthz")).output().unwrap();
    let log = String::from_utf8(output.stderr).unwrap();
    let line = log.lines().find_map(|line| line.split_once("SSL connection using TLSv1.2 / "))?;
    Some(line.1.split(' ').next().unwrap().to_owned())
}

#[test]
fn the_server_chooses_the_strongest_suite() {
    let mut process = Process::on(Kind::Sqlite, &[]);
    let root = put_certificate(process.path());
    process.set("GATEHOUSE_TLS_CERT", "cert.pem");
    process.set("GATEHOUSE_TLS_KEY", "key.pem");
    let server = process.serve();
    let chosen = |suites: &str| chosen_suite(&root, server.address.port(), suites);
    let strong = "ECDHE-ECDSA-AES256-GCM-SHA384";
    let other = "ECDHE-ECDSA-AES128-GCM-SHA256";
    assert_eq!(chosen(&format!("{other}:{strong}")).as_deref(), Some(strong));
    assert_eq!(chosen(other).as_deref(), Some(other));
    for weak in ["ECDHE-ECDSA-AES256-SHA384", "ECDHE-ECDSA-AES128-SHA", "AES256-GCM-SHA384"] {
        assert_eq!(chosen(weak), None, "{weak}");
    }
}

#[test]
fn unusable_certificate_prevents_the_start() {
    let mut process = Process::on(Kind::Sqlite, &[]);
    put_certificate(process.path());
    process.set("GATEHOUSE_TLS_CERT", "cert.pem");
    assert!(process.refused(&["serve"]).1.contains("must be set too, because tls_cert is set"));
    process.set("GATEHOUSE_TLS_KEY", "other.pem");
    assert!(process.refused(&["serve"]).1.contains("other.pem"));
    std::fs::write(process.path().join("other.pem"), server_certificate().1).unwrap();
    let (_, problem) = process.refused(&["serve"]);
    assert!(problem.contains("tls_key: other.pem: "), "a key of another certificate: {problem}");
}

#[test]
fn the_connection_to_postgresql_is_encrypted_and_verified() {
    let root = store::testing::cluster_root();
    let with = |options: &str| {
        let mut process = Process::on(Kind::Postgres, &[]);
        let plain = process.database_url();
        process.set("GATEHOUSE_DATABASE_URL", &format!("{plain}?{options}"));
        process
    };
    let message = |process: &Process| {
        let report =
            serde_json::from_slice::<serde_json::Value>(&process.run(&["doctor", "--json"]).stdout).unwrap();
        report.to_string()
    };
    let verified = with(&format!("sslmode=verify-full&sslrootcert={root}"));
    verified.tenant("acme");
    let server = verified.serve();
    assert_eq!(Caller::anonymous(server.address).get("/readyz").status, 200);
    assert!(message(&verified).contains("\"ok\":true"), "{}", message(&verified));
    // This system does not trust the server's certificate.
    let stranger = with("sslmode=verify-full");
    assert!(stranger.refused(&["migrate"]).1.contains("certificate"), "{:?}", stranger.refused(&["migrate"]));
    assert!(with("sslmode=require").run(&["migrate"]).status.success());
    assert!(with("sslmode=disable").run(&["migrate"]).status.success());
    assert!(with("sslmode=perhaps").refused(&["migrate"]).1.contains("sslmode must be one of"));
}

/// Ends all other connections to the database.
fn end_connections(database_url: &str) {
    let statement = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity \
                     WHERE datname = current_database() AND pid <> pg_backend_pid()";
    assert!(Command::new("psql").args(["-qAtc", statement, database_url]).output().unwrap().status.success());
}

#[test]
fn a_client_certificate_authenticates_to_postgresql_and_is_reloaded() {
    let (root, (certificate, key)) = (store::testing::cluster_root(), store::testing::cluster_client());
    let mut process = Process::on(Kind::Postgres, &[]);
    let plain = process.database_url();
    let role = "DO $$ BEGIN CREATE ROLE gatehouse_certificate LOGIN SUPERUSER; \
                EXCEPTION WHEN duplicate_object OR unique_violation THEN NULL; END $$";
    assert!(Command::new("psql").args(["-qc", role, &plain]).status().unwrap().success());
    let (own_certificate, own_key) = (process.path().join("client.crt"), process.path().join("client.key"));
    let put = |(certificate, key): (&Path, &Path)| {
        std::fs::copy(key, &own_key).unwrap();
        std::fs::copy(certificate, &own_certificate).unwrap();
    };
    put((&certificate, &key));
    let named = plain.replacen("gatehouse@", "gatehouse_certificate@", 1);
    let verified = format!("{named}?sslmode=verify-full&sslrootcert={root}");
    let (own, own_secret) = (own_certificate.display(), own_key.display());
    process.set("GATEHOUSE_DATABASE_URL", &verified);
    let (_, problem) = process.refused(&["migrate"]);
    assert!(problem.contains("valid client certificate"), "without a certificate: {problem}");
    process.set("GATEHOUSE_DATABASE_URL", &format!("{verified}&sslcert={own}&sslkey={own_secret}"));
    process.tenant("acme");
    let mut server = process.serve();
    let is_ready = || Caller::anonymous(server.address).get("/readyz").status == 200;
    assert!(is_ready());
    std::fs::set_permissions(&own_key, std::fs::Permissions::from_mode(0o644)).unwrap();
    let report = String::from_utf8(process.run(&["doctor"]).stdout).unwrap();
    assert!(report.contains("client.key is accessible to all users"), "{report}");
    let ends = || {
        let metrics = Caller::anonymous(server.address).get("/metrics").text;
        let gauge = "gatehouse_database_certificate_ends_timestamp_seconds ";
        metrics.lines().find_map(|line| line.strip_prefix(gauge)).unwrap().to_owned()
    };
    let known = ends();

    // PostgreSQL does not know this certificate.
    put_certificate(process.path());
    put((&process.path().join("cert.pem"), &process.path().join("key.pem")));
    assert_ne!(ends(), known);
    super::until("new connections are refused", Duration::from_secs(10), || {
        end_connections(&plain);
        !is_ready() && !is_ready()
    });
    put((&certificate, &key));
    assert_eq!(ends(), known);
    super::until("the renewed certificate is used", Duration::from_secs(10), is_ready);

    // Files that cannot be used change nothing.
    std::fs::write(&own_certificate, "nonsense").unwrap();
    assert_eq!(ends(), known);
    assert!(server.log().contains("the file contains no certificate"));
    end_connections(&plain);
    super::until("the previous certificate is used", Duration::from_secs(10), is_ready);
    assert_eq!(server.terminate().0, Some(0));
    assert!(process.refused(&["serve"]).1.contains("sslcert: "));
}
