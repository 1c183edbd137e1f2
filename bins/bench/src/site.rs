//! A server to send requests to.

use std::{fmt::Write as _, path::Path, process::Command, time::Duration};

use xtask::{
    cluster::Cluster,
    server::{CHEAP, Server, gatehouse, member, person, serve},
    sh::{self, Result},
    system,
};

use crate::{cpu, load};

/// Users of a new site.
const USERS: usize = 1000;

/// A server with a tenant, a token and users.
pub(crate) struct Site {
    pub(crate) server: Server,
    pub(crate) tenant: String,
    pub(crate) token: String,
    pub(crate) users: Vec<String>,
    pub(crate) idle_bytes: u64,
}

impl Site {
    pub(crate) fn start(program: &Path, database: &str, folder: &Path) -> Result<Self> {
        Self::start_with(program, database, &mut serve(program, database, folder))
    }

    /// Starts the server with a command that has other settings.
    pub(crate) fn start_with(program: &Path, database: &str, serve: &mut Command) -> Result<Self> {
        gatehouse(program, database, &["migrate"])?;
        let made = gatehouse(program, database, &["tenant", "create", "--slug", "bench", "--name", "Bench"])?;
        let tenant = member(&made, "id")?;
        let minted =
            gatehouse(program, database, &["token", "scim", "--tenant", "bench", "--name", "bench"])?;
        let token = member(&minted, "token")?;
        let server = Server::start(serve)?;
        let idle_bytes = cpu::resident_bytes(server.pid());
        let mut site = Self { server, tenant, token, users: Vec::new(), idle_bytes };
        for number in 0..USERS {
            let (status, body) =
                load::once(site.server.address, &site.create_named(&format!("user-{number}")))?;
            if status != 201 {
                return Err(format!("creating a user answers {status}: {body}"));
            }
            site.users.push(member(&body, "id")?);
        }
        Ok(site)
    }

    /// Measures the time to start on the existing database.
    pub(crate) fn restart_time(program: &Path, database: &str, folder: &Path) -> Result<Duration> {
        Ok(Server::start(&mut serve(program, database, folder))?.started_in)
    }

    pub(crate) fn user(&self, number: u64) -> &str {
        // Spread pseudo-randomly over all users.
        let at = usize::try_from(number.wrapping_mul(2_654_435_761) % USERS as u64).unwrap_or(0);
        self.users.get(at).map_or("", String::as_str)
    }

    /// Walks through all pages and returns the cursors of all but the first.
    pub(crate) fn cursors(&self) -> Result<Vec<String>> {
        let mut cursors = Vec::new();
        let mut cursor = String::new();
        loop {
            let path = format!("/api/scim/v2/Users?cursor={cursor}&count=200&attributes=id");
            let (_, body) = load::once(self.server.address, &get(&path, &self.token))?;
            let Ok(next) = member(&body, "nextCursor") else { return Ok(cursors) };
            cursor.clone_from(&next);
            cursors.push(next);
        }
    }

    pub(crate) fn get(&self, number: u64) -> Vec<u8> {
        get(&format!("/api/scim/v2/Users/{}", self.user(number)), &self.token)
    }

    pub(crate) fn create(&self, number: u64) -> Vec<u8> {
        self.create_named(&format!("bench-{}-{number}", std::process::id()))
    }

    pub(crate) fn create_named(&self, name: &str) -> Vec<u8> {
        create_named(name, &self.token)
    }
}

/// Creates an administrator of the tenant with this password, and returns a personal access token of theirs.
pub(crate) fn administrator(
    program: &Path,
    database: &str,
    (tenant, email, password): (&str, &str, &str),
) -> Result<String> {
    person(program, database, CHEAP, tenant, email, password)?;
    let of = ["--tenant", tenant, "--email", email];
    gatehouse(program, database, &[&["user", "role"][..], &of, &["--role", "ADMIN"]].concat())?;
    let minted = ["token", "pat", "--name", "bench", "--scopes", "admin:tenant"];
    member(&gatehouse(program, database, &[&minted[..], &of].concat())?, "token")
}

/// Builds the request that creates a user with this name.
pub(crate) fn create_named(name: &str, token: &str) -> Vec<u8> {
    let body = format!(
        r#"{{"schemas":["urn:ietf:params:scim:schemas:core:2.0:User"],"userName":"{name}@example.com","externalId":"{name}","name":{{"givenName":"Ada","familyName":"Lovelace"}},"emails":[{{"value":"{name}@example.com","type":"work","primary": true}},{{"value":"{name}@home.example","type":"home"}}],"active":true}}"#
    );
    request("POST", "/api/scim/v2/Users", token, &body)
}

pub(crate) fn get(path: &str, token: &str) -> Vec<u8> {
    request("GET", path, token, "")
}

pub(crate) fn request(method: &str, path: &str, token: &str, body: &str) -> Vec<u8> {
    let mut head = format!("{method} {path} HTTP/1.1\r\nHost: bench\r\n");
    if !token.is_empty() {
        let _infallible = write!(head, "Authorization: Bearer {token}\r\nAccept: application/scim+json\r\n");
    }
    if !body.is_empty() {
        let _infallible =
            write!(head, "Content-Type: application/scim+json\r\nContent-Length: {}\r\n", body.len());
    }
    format!("{head}\r\n{body}").into_bytes()
}

pub(crate) fn sql(cluster: &Cluster, statement: &str) -> Result<()> {
    let psql = system::postgres_bin()?.join("psql");
    sh::run(Command::new(psql).args(["-q", "-v", "ON_ERROR_STOP=1", "-c", statement]).arg(cluster.url()))
}
