//! `gatehouse user`

use audit::{Audited, Event, events::users::UserCreated};
use clap::Subcommand;
use directory::{NewPerson, Role};
use kernel::Email;
use serde_json::json;

use super::{Office, Report, Result};

#[derive(Subcommand)]
pub(super) enum Command {
    /// Make a person
    Create {
        /// The tenant's slug
        #[arg(long)]
        tenant: String,
        /// User name and sign-in address
        #[arg(long)]
        email: Email,
        /// ADMIN or MEMBER
        #[arg(long, default_value = "MEMBER")]
        role: Role,
    },
}

pub(super) async fn run(command: Command, office: &Office) -> Result<Report> {
    let Command::Create { tenant, email, role } = command;
    let tenant = office.tenant(&tenant).await?;
    let write = office.write(&tenant.id, async move |ctx, tx| {
        let person = directory::create_person(ctx, tx, NewPerson { email, role }).await?;
        let data = UserCreated {
            active: true,
            role: role.as_str(),
            fields: vec!["userName".into(), "emails".into()],
        };
        let event = Event::new(person.id.as_str(), &data);
        Ok::<_, directory::Error>(Audited::new(person, event))
    });
    let person = write.await?;
    let json = json!({ "id": person.id, "email": person.email.as_str() });
    Ok(Report::new(json, format!("{} is {}", person.email, person.id)))
}
