//! Stores passwords, tickets, attempts and known origins for sign-ins.

use async_trait::async_trait;
use audit::Unaudited;
use chrono::NaiveDateTime;
use credentials::{
    AttemptStore, OriginHistory, Salt, SignInPolicy, SignInStore, Ticket, TicketKind, TicketStore,
    attempts::AttemptKey,
};
use diesel::{dsl, prelude::*, upsert::excluded};
use diesel_async::RunQueryDsl;
use kernel::{StoreError, StoreResult, Timestamp, UserId};

use crate::{
    Tx,
    authentication::holder::{policy_of, salt_of},
    conn::{Conn, on_postgres},
    db::{change, change_unaudited, lock, read, unaudited},
    error::{corrupt, store_error},
    json::{JsonText, json_text, read_json},
    prepared::Prepared,
    schema::{
        attempts, known_origins, notices, password_salts, passwords, spent_challenges, tenants, tickets,
    },
};

#[derive(Insertable, Queryable, Selectable)]
#[diesel(table_name = tickets, treat_none_as_default_value = false)]
struct TicketRow {
    tenant_id: String,
    hash: Vec<u8>,
    kind: String,
    user_id: String,
    state: JsonText,
    created_at: NaiveDateTime,
    wrong_answers: i64,
}

#[derive(Insertable)]
#[diesel(table_name = attempts, treat_none_as_default_value = false)]
struct AttemptRow {
    key: Vec<u8>,
    times: JsonText,
    until: NaiveDateTime,
}

#[async_trait]
impl SignInStore for Tx {
    async fn password(&mut self, user: &UserId) -> StoreResult<Option<String>> {
        let query = passwords::table.find((self.tenant.as_str(), user.as_str())).select(passwords::hash);
        read!(self, c => query.first(c).await.optional())
    }

    async fn set_password(&mut self, user: &UserId, hash: &str, at: Timestamp) -> StoreResult<()> {
        let row = (
            passwords::tenant_id.eq(self.tenant.as_str()),
            passwords::user_id.eq(user.as_str()),
            passwords::hash.eq(hash),
            passwords::changed_at.eq(at.naive()),
        );
        let newer = (
            passwords::hash.eq(excluded(passwords::hash)),
            passwords::changed_at.eq(excluded(passwords::changed_at)),
        );
        let insert = diesel::insert_into(passwords::table).values(row);
        let query = insert.on_conflict((passwords::tenant_id, passwords::user_id)).do_update().set(newer);
        let query = Prepared(query);
        change!(self, c => query.execute(c).await)?;
        Ok(())
    }

    async fn renew_password_hash(&mut self, user: &UserId, hash: &str) -> StoreResult<()> {
        let row = passwords::table.find((self.tenant.as_str(), user.as_str()));
        let query = Prepared(diesel::update(row).set(passwords::hash.eq(hash)));
        change_unaudited!(self, Unaudited::NothingChanged, c => query.execute(c).await)?;
        Ok(())
    }

    async fn password_salt(&mut self, email_key: &str, new: Salt) -> StoreResult<Salt> {
        let address = Salt::address(email_key);
        let row = (password_salts::address.eq(&address[..]), password_salts::salt.eq(&new.as_bytes()[..]));
        let query = diesel::insert_into(password_salts::table).values(row).on_conflict_do_nothing();
        change_unaudited!(self, Unaudited::StepTaken, c => query.execute(c).await)?;
        let query = password_salts::table.find(&address[..]).select(password_salts::salt);
        let stored: Vec<u8> = read!(self, c => query.first(c).await)?;
        salt_of(&stored)
    }

    async fn knows_origin(&mut self, user: &UserId, origin: &str) -> StoreResult<bool> {
        let row = known_origins::table.find((self.tenant.as_str(), user.as_str(), origin));
        let known: Option<String> =
            read!(self, c => row.select(known_origins::origin).first(c).await.optional())?;
        Ok(known.is_some())
    }

    async fn note_origin(
        &mut self,
        user: &UserId,
        origin: &str,
        at: Timestamp,
    ) -> StoreResult<OriginHistory> {
        let row = (
            known_origins::tenant_id.eq(self.tenant.as_str()),
            known_origins::user_id.eq(user.as_str()),
            known_origins::origin.eq(origin),
            known_origins::seen_at.eq(at.naive()),
        );
        let query = diesel::insert_into(known_origins::table).values(row).on_conflict_do_nothing();
        if change_unaudited!(self, Unaudited::LastUse, c => query.execute(c).await)? == 0 {
            return Ok(OriginHistory::Known);
        }
        let others = known_origins::table
            .filter(known_origins::tenant_id.eq(self.tenant.as_str()))
            .filter(known_origins::user_id.eq(user.as_str()))
            .filter(known_origins::origin.ne(origin))
            .select(known_origins::origin);
        let other: Option<String> = read!(self, c => others.first(c).await.optional())?;
        Ok(if other.is_some() { OriginHistory::New } else { OriginHistory::First })
    }

    async fn consume_challenge(&mut self, hash: &[u8; 32], until: Timestamp) -> StoreResult<bool> {
        let row = (
            spent_challenges::tenant_id.eq(self.tenant.as_str()),
            spent_challenges::hash.eq(&hash[..]),
            spent_challenges::until.eq(until.naive()),
        );
        let query = diesel::insert_into(spent_challenges::table).values(row).on_conflict_do_nothing();
        Ok(change_unaudited!(self, Unaudited::StepTaken, c => query.execute(c).await)? == 1)
    }

    async fn sign_in_policy(&mut self) -> StoreResult<SignInPolicy> {
        let query = tenants::table.find(self.tenant.as_str()).select(tenants::sign_in_policy);
        let stored: Option<Option<JsonText>> = lock!(self, for_share, first, query)?;
        policy_of(stored.flatten())
    }

    async fn sign_in_policy_to_change(&mut self) -> StoreResult<SignInPolicy> {
        let query = tenants::table.find(self.tenant.as_str()).select(tenants::sign_in_policy);
        let stored: Option<Option<JsonText>> = lock!(self, for_update, first, query)?;
        policy_of(stored.flatten())
    }

    async fn set_sign_in_policy(&mut self, policy: &SignInPolicy) -> StoreResult<()> {
        let row = tenants::table.find(self.tenant.as_str());
        let text = json_text("tenants.sign_in_policy", policy)?;
        let query = Prepared(diesel::update(row).set(tenants::sign_in_policy.eq(text)));
        change!(self, c => query.execute(c).await)?;
        Ok(())
    }

    async fn delete_password(&mut self, user: &UserId) -> StoreResult<bool> {
        let row = passwords::table.find((self.tenant.as_str(), user.as_str()));
        let deleted = change!(self, c => dsl::delete(row).execute(c).await)? == 1;
        Ok(deleted)
    }

    async fn notices(&mut self, user: &UserId) -> StoreResult<Vec<String>> {
        let row = notices::table.find((self.tenant.as_str(), user.as_str())).select(notices::notice);
        let stored: Option<String> = read!(self, c => row.first(c).await.optional())?;
        // One text: the notices separated by spaces, oldest first.
        let all = stored.iter().flat_map(|stored| stored.split(' ')).map(str::to_owned);
        Ok(all.rev().collect())
    }

    async fn consume_notice(&mut self, user: &UserId) -> StoreResult<Option<String>> {
        let mut stored = self.notices(user).await?;
        if stored.is_empty() {
            return Ok(None);
        }
        let taken = stored.remove(0);
        stored.reverse();
        self.keep_notices(user, &stored).await?;
        Ok(Some(taken))
    }

    async fn add_notice(&mut self, user: &UserId, notice: &str) -> StoreResult<()> {
        let mut stored = self.notices(user).await?;
        stored.reverse();
        stored.retain(|known| known != notice);
        stored.push(notice.to_owned());
        self.keep_notices(user, &stored).await
    }
}

impl Tx {
    /// Replaces a user's notices. `notices` is ordered oldest first.
    async fn keep_notices(&mut self, user: &UserId, notices: &[String]) -> StoreResult<()> {
        if notices.is_empty() {
            let row = notices::table.find((self.tenant.as_str(), user.as_str()));
            change_unaudited!(self, Unaudited::Announced, c => dsl::delete(row).execute(c).await)?;
            return Ok(());
        }
        let row = (
            notices::tenant_id.eq(self.tenant.as_str()),
            notices::user_id.eq(user.as_str()),
            notices::notice.eq(notices.join(" ")),
        );
        let insert = diesel::insert_into(notices::table).values(row);
        let upsert = insert.on_conflict((notices::tenant_id, notices::user_id)).do_update();
        let query = Prepared(upsert.set(notices::notice.eq(excluded(notices::notice))));
        change_unaudited!(self, Unaudited::Announced, c => query.execute(c).await)?;
        Ok(())
    }
}

impl Tx {
    /// Copies the salt of the old sign-in address to the new one, if the new one has none. The user's password stays
    /// valid after the address changes.
    pub(crate) async fn inherit_salt(&mut self, before: &str, after: &str) -> StoreResult<()> {
        let (before, after) = (Salt::address(before), Salt::address(after));
        let query = password_salts::table.find(&before[..]).select(password_salts::salt);
        let salt: Option<Vec<u8>> = read!(self, c => query.first(c).await.optional())?;
        let Some(salt) = salt else { return Ok(()) };
        let row = (password_salts::address.eq(&after[..]), password_salts::salt.eq(salt));
        let query = diesel::insert_into(password_salts::table).values(row).on_conflict_do_nothing();
        change_unaudited!(self, Unaudited::PartOfChange, c => query.execute(c).await)?;
        Ok(())
    }
}

#[async_trait]
impl TicketStore for Tx {
    async fn insert_ticket(&mut self, ticket: &Ticket) -> StoreResult<()> {
        let row = TicketRow {
            tenant_id: self.tenant.to_string(),
            hash: ticket.hash.to_vec(),
            kind: ticket.kind.as_str().to_owned(),
            user_id: ticket.user.to_string(),
            state: json_text("tickets.state", &ticket.state)?,
            created_at: ticket.created_at.naive(),
            wrong_answers: ticket.wrong_answers,
        };
        let query = diesel::insert_into(tickets::table).values(&row);
        change_unaudited!(self, Unaudited::StepTaken, c => query.execute(c).await)?;
        Ok(())
    }

    async fn ticket(&mut self, hash: &[u8; 32]) -> StoreResult<Option<Ticket>> {
        let query = tickets::table.find((self.tenant.as_str(), &hash[..]));
        let row: Option<TicketRow> = lock!(self, for_update, first, query.select(TicketRow::as_select()))?;
        let Some(row) = row else { return Ok(None) };
        Ok(Some(Ticket {
            hash: *hash,
            kind: TicketKind::parse(&row.kind).ok_or_else(|| corrupt("tickets.kind", &row.kind))?,
            user: row.user_id.parse().map_err(|error| corrupt("tickets.user_id", error))?,
            state: read_json("tickets.state", &row.state)?,
            created_at: Timestamp::from_naive(row.created_at),
            wrong_answers: row.wrong_answers,
        }))
    }

    async fn take_ticket(&mut self, hash: &[u8; 32]) -> StoreResult<bool> {
        let row = tickets::table.find((self.tenant.as_str(), &hash[..]));
        Ok(change_unaudited!(self, Unaudited::StepTaken, c => dsl::delete(row).execute(c).await)? == 1)
    }

    async fn update_ticket(&mut self, ticket: &Ticket) -> StoreResult<()> {
        let row = tickets::table.find((self.tenant.as_str(), &ticket.hash[..]));
        let state = json_text("tickets.state", &ticket.state)?;
        let changes = (tickets::state.eq(state), tickets::wrong_answers.eq(ticket.wrong_answers));
        change_unaudited!(self, Unaudited::StepTaken, c => Prepared(diesel::update(row).set(changes)).execute(c).await)?;
        Ok(())
    }

    async fn drop_tickets(&mut self, user: &UserId) -> StoreResult<()> {
        let rows = tickets::table
            .filter(tickets::tenant_id.eq(self.tenant.as_str()))
            .filter(tickets::user_id.eq(user.as_str()));
        change_unaudited!(self, Unaudited::StepTaken, c => dsl::delete(rows).execute(c).await)?;
        Ok(())
    }
}

#[async_trait]
impl AttemptStore for Tx {
    async fn attempts(&mut self, keys: &[AttemptKey]) -> StoreResult<Vec<Vec<i64>>> {
        unaudited(Unaudited::AttemptCounted);
        let found: Vec<(Vec<u8>, JsonText)> = match self.db.changing().await? {
            // SQLite has a single writer, so no other write happens between this read and the write.
            Conn::Sqlite(c) => {
                let wanted = keys.iter().map(|key| key.as_bytes().to_vec());
                let query = attempts::table.filter(attempts::key.eq_any(wanted));
                query.select((attempts::key, attempts::times)).load(c).await.map_err(store_error)?
            }
            Conn::Postgres(pg) => {
                // Inserts missing rows so that they can be locked, in the key order used everywhere, which avoids
                // deadlocks.
                let empty = |key: &AttemptKey| AttemptRow {
                    key: key.as_bytes().to_vec(),
                    times: JsonText("[]".into()),
                    until: NaiveDateTime::default(),
                };
                let rows: Vec<_> = keys.iter().map(empty).collect();
                let insert = diesel::insert_into(attempts::table).values(&rows);
                let upsert = insert.on_conflict(attempts::key).do_update();
                let lock_rows = upsert.set(attempts::until.eq(attempts::until));
                let lock_rows = Prepared(lock_rows.returning((attempts::key, attempts::times)));
                on_postgres!(pg, c => lock_rows.get_results(c).await).map_err(store_error)?
            }
        };
        let times = |key: &AttemptKey| {
            let stored = found.iter().find(|(known, _)| *known == key.as_bytes()).map(|(_, times)| times);
            stored.map_or_else(|| Ok(Vec::new()), |text| read_json("attempts.times", text))
        };
        keys.iter().map(times).collect()
    }

    async fn record_attempts(&mut self, stored: &[(AttemptKey, Vec<i64>, Timestamp)]) -> StoreResult<()> {
        let row = |(key, times, until): &(AttemptKey, Vec<i64>, Timestamp)| {
            let times = json_text("attempts.times", times)?;
            Ok::<_, StoreError>(AttemptRow { key: key.as_bytes().to_vec(), times, until: until.naive() })
        };
        let rows = stored.iter().map(row).collect::<Result<Vec<_>, _>>()?;
        let newer =
            (attempts::times.eq(excluded(attempts::times)), attempts::until.eq(excluded(attempts::until)));
        unaudited(Unaudited::AttemptCounted);
        match self.db.changing().await? {
            Conn::Postgres(pg) => {
                let query = diesel::insert_into(attempts::table).values(&rows);
                let query = Prepared(query.on_conflict(attempts::key).do_update().set(newer));
                on_postgres!(pg, c => query.execute(c).await).map_err(store_error)?;
            }
            Conn::Sqlite(c) => {
                for row in &rows {
                    let query = diesel::insert_into(attempts::table).values(row);
                    let query = Prepared(query.on_conflict(attempts::key).do_update().set(newer));
                    query.execute(c).await.map_err(store_error)?;
                }
            }
        }
        Ok(())
    }
}
