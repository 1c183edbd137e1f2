//! Baselines that the server is compared with: actix handlers that do nothing, run one or two prepared selects, or run
//! one insert with its commit. `cargo xtask bench path` starts it; it serves until it is stopped.
//!
//! `floor POSTGRES_URL SQLITE_PATH TENANT`
#![expect(missing_docs, reason = "a measuring instrument")]

use std::{
    io::{Error, Write},
    sync::atomic::{AtomicU64, Ordering},
};

use actix_web::{App, HttpResponse, HttpServer, get, post, web};
use diesel::{prelude::*, sqlite::SqliteConnection};
use diesel_async::{
    AsyncPgConnection, RunQueryDsl,
    pooled_connection::{AsyncDieselConnectionManager, ManagerConfig, RecyclingMethod, deadpool::Pool},
    sync_connection_wrapper::SyncConnectionWrapper,
};

diesel::table! {
    users (tenant_id, id) {
        tenant_id -> Text,
        id -> Text,
        user_name -> Text,
        user_name_key -> Text,
    }
}

diesel::table! {
    tenants (id) {
        id -> Text,
        slug -> Text,
    }
}

diesel::table! {
    floor (id) {
        id -> Text,
        body -> Text,
    }
}

type Sqlite = SyncConnectionWrapper<SqliteConnection>;

struct Floor {
    postgres: Pool<AsyncPgConnection>,
    sqlite: Pool<Sqlite>,
    tenant: String,
}

static COUNT: AtomicU64 = AtomicU64::new(0);

#[get("/empty")]
async fn empty() -> HttpResponse {
    HttpResponse::Ok().finish()
}

#[get("/postgres/{id}")]
async fn postgres_select(floor: web::Data<Floor>, id: web::Path<String>) -> Result<String, Error> {
    let mut conn = floor.postgres.get().await.map_err(Error::other)?;
    let query = users::table.find((&floor.tenant, &*id)).select((users::user_name, users::user_name_key));
    let (name, key): (String, String) = query.first(&mut conn).await.map_err(Error::other)?;
    Ok(format!("{name}{key}"))
}

/// As a server must ask who calls before it looks for what.
#[get("/postgres/two/{id}")]
async fn postgres_selects(floor: web::Data<Floor>, id: web::Path<String>) -> Result<String, Error> {
    let mut conn = floor.postgres.get().await.map_err(Error::other)?;
    let query = tenants::table.find(&floor.tenant).select(tenants::slug);
    let slug: String = query.first(&mut conn).await.map_err(Error::other)?;
    let query = users::table.find((&floor.tenant, &*id)).select((users::user_name, users::user_name_key));
    let (name, key): (String, String) = query.first(&mut conn).await.map_err(Error::other)?;
    Ok(format!("{slug}{name}{key}"))
}

#[get("/sqlite/{id}")]
async fn sqlite_select(floor: web::Data<Floor>, id: web::Path<String>) -> Result<String, Error> {
    let mut conn = floor.sqlite.get().await.map_err(Error::other)?;
    let query = users::table.find((&floor.tenant, &*id)).select((users::user_name, users::user_name_key));
    let (name, key): (String, String) = query.first(&mut conn).await.map_err(Error::other)?;
    Ok(format!("{name}{key}"))
}

#[post("/postgres")]
async fn postgres_insert(floor: web::Data<Floor>) -> Result<HttpResponse, Error> {
    let mut conn = floor.postgres.get().await.map_err(Error::other)?;
    let id = format!("{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
    let row = (floor::id.eq(id), floor::body.eq("a row of a floor"));
    diesel::insert_into(floor::table).values(row).execute(&mut conn).await.map_err(Error::other)?;
    Ok(HttpResponse::Created().finish())
}

fn pool<C>(url: &str) -> std::io::Result<Pool<C>>
where
    C: diesel_async::pooled_connection::PoolableConnection + Send + 'static,
    AsyncDieselConnectionManager<C>: deadpool::managed::Manager<Type = C>,
{
    let mut config = ManagerConfig::<C>::default();
    config.recycling_method = RecyclingMethod::Fast;
    let manager = AsyncDieselConnectionManager::new_with_config(url, config);
    Pool::builder(manager).max_size(8).build().map_err(Error::other)
}

#[tokio::main]
async fn main() -> std::io::Result<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [url, path, tenant] = words.as_slice() else {
        return Err(Error::other("POSTGRES_URL SQLITE_PATH TENANT"));
    };
    let (url, path, tenant) = (url.clone(), path.clone(), tenant.clone());
    let server = HttpServer::new(move || {
        let pools = pool(&url).and_then(|postgres| Ok((postgres, pool(&path)?)));
        let app = App::new()
            .service(empty)
            .service(postgres_select)
            .service(postgres_selects)
            .service(sqlite_select)
            .service(postgres_insert);
        match pools {
            Ok((postgres, sqlite)) => {
                app.app_data(web::Data::new(Floor { postgres, sqlite, tenant: tenant.clone() }))
            }
            Err(_) => app,
        }
    })
    .workers(2)
    .bind(("127.0.0.1", 0))?;
    for address in server.addrs() {
        println!("listening on http://{address}");
    }
    std::io::stdout().flush()?;
    server.run().await
}
