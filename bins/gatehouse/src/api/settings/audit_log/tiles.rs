//! `/api/settings/audit-log/tile`: the hashes of the log (C2SP tlog-tiles).

use actix_web::{HttpResponse, get, http::header, web};
use audit::log::{Tile, tile};
use kernel::Ctx;
use store::Tx;
use utoipa::ToSchema;

use super::proofs::keys;
use crate::api::{Answer, Call};
use gate::{errors::Problem, permissions::ReadAudit};

/// How long clients may keep a tile, which never changes.
const CACHING: &str = "private, max-age=31536000, immutable";

/// Up to 256 hashes of 32 bytes each.
#[derive(ToSchema)]
#[schema(value_type = String, format = Binary)]
#[expect(dead_code, reason = "for the description alone")]
struct AuditTile(Vec<u8>);

/// The path in the API description. The index may contain slashes.
pub(crate) const TILE: &str = "/api/settings/audit-log/tile/{level}/{index}";

/// Get a tile of the audit log
///
/// Up to 256 hashes of 32 bytes: the leaf hashes at level 0, hashes of whole tiles of the level below otherwise (C2SP
/// tlog-tiles). The base URL of the log is `…/api/settings/audit-log`, with its checkpoint at `/checkpoint`. Entries are
/// in the export, not in bundles. A partial tile is named by its width after `.p/`.
#[utoipa::path(
    security(("sessionCookie" = []), ("personalAccessToken" = ["admin:tenant"])),
    params(
        ("level" = String, Path, description = "Level, from 0."),
        ("index" = String, Path, description = "Index in groups of three digits, such as `000`, `x001/067` or `000.p/12`."),
    ),
    responses(
        (status = 200, description = "The hashes.", content_type = "application/octet-stream", body = AuditTile),
        (status = 404, description = "The log has no such tile yet, or its hashes were purged."),
    )
)]
#[get("/api/settings/audit-log/tile/{level}/{index:.*}")]
pub(crate) async fn get_audit_tile(call: Call<ReadAudit>, path: web::Path<(String, String)>) -> Answer {
    let (level, index) = path.into_inner();
    let wanted = Tile::parse(&level, &index).ok_or_else(Problem::not_found)?;
    let keys = keys(&call);
    let hashes = call.read(async move |_: &Ctx, tx: &mut Tx| tile(tx, &keys, wanted).await).await?;
    Ok(HttpResponse::Ok()
        .insert_header((header::CACHE_CONTROL, CACHING))
        .content_type("application/octet-stream")
        .body(hashes))
}
