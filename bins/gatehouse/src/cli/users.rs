//! `gatehouse user`

mod listing;

use std::io::Read;

use audit::{Audited, Unaudited};
use clap::{Args, Subcommand, ValueEnum};
use credentials::{PasswordContext, Passwords, Salt, SignInStore, WeakPassword, check_new_password};
use directory::{LinkKind, NewPerson, Person, Role};
use kernel::{Ctx, Email, Secret};
use serde_json::{Value, json};
use sign_in::{administration, reset};
use store::Tx;

use super::{
    operator::Operator,
    report::{Report, Result, counted},
};
use crate::{
    breached::{BreachedPasswords, PasswordDigest},
    config::Settings,
};

#[derive(Subcommand)]
pub(crate) enum Command {
    /// Create a user
    #[command(
        after_help = "Example:\n  gatehouse user create --tenant acme --email admin@example.com --role ADMIN"
    )]
    Create {
        #[command(flatten)]
        who: UserSelection,
        /// Role: ADMIN, SECURITY, SUPPORT, AUDITOR, DEVELOPER, MEMBER, or the ID of a role of the tenant
        #[arg(long, default_value = "MEMBER")]
        role: Role,
        /// Read the password from standard input
        #[arg(long)]
        password_stdin: bool,
    },
    /// List a tenant's users in the order of their creation
    #[command(after_help = "Example:\n  gatehouse user list --tenant acme")]
    List {
        /// Slug of the tenant
        #[arg(long)]
        tenant: String,
    },
    /// Show a user with their factors
    #[command(after_help = "Example:\n  gatehouse user show --tenant acme --email ada@example.com")]
    Show(UserSelection),
    /// Change a user's role; also restores an administrator
    #[command(
        after_help = "Example:\n  gatehouse user role --tenant acme --email ada@example.com --role ADMIN"
    )]
    Role {
        #[command(flatten)]
        who: UserSelection,
        /// Role: ADMIN, SECURITY, SUPPORT, AUDITOR, DEVELOPER, MEMBER, or the ID of a role of the tenant
        #[arg(long)]
        role: Role,
    },
    /// Reset a user: revoke password, sessions and tokens and print a link to set a new password; or remove all factors
    #[command(after_help = "Example:\n  gatehouse user reset --tenant acme --email ada@example.com")]
    Reset {
        #[command(flatten)]
        who: UserSelection,
        /// Remove all factors and recovery codes instead
        #[arg(long)]
        factors: bool,
    },
    /// Make a user a break-glass user, who may sign in without single sign-on even if it is required
    #[command(
        after_help = "Example:\n  gatehouse user break-glass --tenant acme --email admin@example.com on"
    )]
    BreakGlass {
        #[command(flatten)]
        who: UserSelection,
        /// Turn it on or off
        #[arg(value_enum)]
        switch: Toggle,
    },
    /// Disable a user: end all sessions and refuse sign-ins and tokens
    #[command(after_help = "Example:\n  gatehouse user disable --tenant acme --email ada@example.com")]
    Disable(UserSelection),
    /// Let a disabled user sign in again
    #[command(after_help = "Example:\n  gatehouse user enable --tenant acme --email ada@example.com")]
    Enable(UserSelection),
    /// Delete a user
    #[command(after_help = "Example:\n  gatehouse user delete --tenant acme --email ada@example.com")]
    Delete(UserSelection),
}

/// Selects a user of a tenant.
#[derive(Args)]
pub(crate) struct UserSelection {
    /// Slug of the tenant
    #[arg(long)]
    tenant: String,
    /// Email address, which is also the user name
    #[arg(long)]
    email: Email,
}

#[derive(Clone, Copy, ValueEnum)]
pub(crate) enum Toggle {
    On,
    Off,
}

pub(crate) async fn run(command: Command, office: &Operator, settings: &Settings) -> Result<Report> {
    match command {
        Command::Create { who, role, password_stdin } => {
            let password = if password_stdin { Some(secret_from_stdin()?) } else { None };
            create(office, settings, who, role, password).await
        }
        Command::List { tenant } => listing::list(&tenant, office).await,
        Command::Show(who) => listing::show(&who.tenant, &who.email, office).await,
        Command::Role { who, role } => {
            let text = format!("{} has role {}", who.email, role.as_str());
            let json = json!(role.as_str());
            change(office, &who, move |person| person.role = role, ("role", json), text).await
        }
        Command::Reset { who, factors: false } => reset_password(office, settings, &who).await,
        Command::Reset { who, factors: true } => reset_factors(office, &who).await,
        Command::BreakGlass { who, switch } => {
            let on = matches!(switch, Toggle::On);
            let text = format!("Break-glass is {} for {}", if on { "on" } else { "off" }, who.email);
            change(office, &who, move |person| person.break_glass = on, ("breakGlass", json!(on)), text).await
        }
        Command::Disable(who) => set_active(office, &who, false).await,
        Command::Enable(who) => set_active(office, &who, true).await,
        Command::Delete(who) => delete(office, &who).await,
    }
}

/// Reads one line, without its line break.
pub(super) fn secret_from_stdin() -> Result<Secret<String>> {
    let mut text = String::new();
    std::io::stdin().take(4096).read_to_string(&mut text)?;
    let line = text.strip_suffix('\n').unwrap_or(&text);
    Ok(Secret::new(line.strip_suffix('\r').unwrap_or(line).to_owned()))
}

async fn create(
    office: &Operator,
    settings: &Settings,
    who: UserSelection,
    role: Role,
    password: Option<Secret<String>>,
) -> Result<Report> {
    let tenant = office.tenant(&who.tenant).await?;
    let (email, shown) = (who.email.clone(), who.email);
    let hash = match password {
        None => None,
        Some(password) => {
            let policy =
                office.store.read(tenant.id.clone(), async |tx: &mut Tx| tx.sign_in_policy().await).await?;
            let names = [email.as_str(), tenant.name.as_str()];
            let context = PasswordContext { names: &names, factor_enforced: policy.mfa.required };
            check_new_password(&password, &context).map_err(|weak| format!("password: {weak}"))?;
            if let Some(path) = &settings.breached_passwords
                && BreachedPasswords::open(path)?.contains(PasswordDigest::of(&password))?
            {
                return Err(format!("password: {}", WeakPassword::Breached).into());
            }
            let (key, new) = (email.key(), Salt::random(&*office.env));
            let salt = office.write(&tenant.id, async move |_: &Ctx, tx: &mut Tx| {
                let salt = tx.password_salt(&key, new).await?;
                Ok::<_, kernel::StoreError>(Audited::without(salt, Unaudited::StepTaken))
            });
            Some(Passwords::new(settings.password_cost).hash(&password, &salt.await?, &tenant.id)?)
        }
    };
    let write = office.write(&tenant.id, async move |ctx, tx| {
        let new = NewPerson { email, role, display_name: None };
        administration::create_user(ctx, tx, new, hash.as_deref().map(|hash| (hash, "OPERATOR"))).await
    });
    let person = write.await?;
    let json = json!({ "id": person.id, "email": shown.as_str() });
    Ok(Report::new(json, format!("Created user {shown} ({})", person.id)))
}

/// Changes a user, and reports the changed member and the user's ID, or `text`.
async fn change(
    office: &Operator,
    who: &UserSelection,
    edit: impl FnOnce(&mut Person) + Send + 'static,
    (name, value): (&str, Value),
    text: String,
) -> Result<Report> {
    let (tenant, id) = office.user(&who.tenant, &who.email).await?;
    let json = json!({ "id": id, name: value });
    let write = office.write(&tenant.id, async move |ctx: &Ctx, tx: &mut Tx| {
        administration::change_account(ctx, tx, &id, edit).await
    });
    write.await?;
    Ok(Report::new(json, text))
}

async fn set_active(office: &Operator, who: &UserSelection, active: bool) -> Result<Report> {
    let text = format!("{} user {}", if active { "Enabled" } else { "Disabled" }, who.email);
    change(office, who, move |person| person.active = active, ("active", json!(active)), text).await
}

async fn reset_password(office: &Operator, settings: &Settings, who: &UserSelection) -> Result<Report> {
    let (tenant, id) = office.user(&who.tenant, &who.email).await?;
    let write = office.write(&tenant.id, async move |ctx: &Ctx, tx: &mut Tx| {
        reset::reset_password(ctx, tx, &id, false).await
    });
    let done = write.await.map_err(|problem| problem.to_string())?;
    let reset::PasswordReset { person, kind, link, revoked_tokens } = done;
    let address = reset::link_url(&settings.base_url(), &link);
    let json = json!({ "id": person.id, "link": address, "revokedTokens": revoked_tokens });
    let valid = counted(kind.hours(), "hour", "hours");
    let lines = match kind {
        LinkKind::Invitation => format!("Invitation link for {}, valid for {valid}:\n{address}", who.email),
        LinkKind::Reset => format!(
            "Revoked the password, all sessions and {} of {}.\nLink to set a new password, valid for {valid}:\n{address}",
            counted(revoked_tokens, "token", "tokens"),
            who.email,
        ),
    };
    Ok(Report::new(json, lines))
}

async fn reset_factors(office: &Operator, who: &UserSelection) -> Result<Report> {
    let (tenant, id) = office.user(&who.tenant, &who.email).await?;
    let user = id.clone();
    let write = office
        .write(&tenant.id, async move |ctx: &Ctx, tx: &mut Tx| reset::reset_factors(ctx, tx, &user).await);
    let done = write.await.map_err(|problem| problem.to_string())?;
    let reset::FactorsReset { removed, revoked_tokens, .. } = done;
    let json = json!({ "id": id, "removed": removed, "revokedTokens": revoked_tokens });
    let lines = format!(
        "Removed {} of {} and revoked all sessions and {}.",
        counted(removed, "factor", "factors"),
        who.email,
        counted(revoked_tokens, "token", "tokens")
    );
    Ok(Report::new(json, lines))
}

async fn delete(office: &Operator, who: &UserSelection) -> Result<Report> {
    let (tenant, id) = office.user(&who.tenant, &who.email).await?;
    let gone = id.clone();
    let write = office.write(&tenant.id, async move |ctx: &Ctx, tx: &mut Tx| {
        administration::delete_user(ctx, tx, &gone).await
    });
    write.await?;
    Ok(Report::new(json!({ "id": id, "deleted": true }), format!("Deleted user {}", who.email)))
}
