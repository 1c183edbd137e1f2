//! The operations on users and groups.

use kernel::{Ctx, GroupId, UserId};
use serde_json::Value;

use super::{Answer, Request, Service};
use crate::{
    Error, Group, GroupDraft, Params, Patch, ScimStore, User, UserDraft, UserStore,
    groups::{self, ChangedGroup},
    list_response,
    schema::{GROUPS, USERS},
    users::{self, CreatedUser},
};

/// The resources that a service has.
pub(super) enum Resources<'s> {
    Users(&'s mut dyn UserStore),
    UsersAndGroups(&'s mut dyn ScimStore),
}

impl Resources<'_> {
    fn users(&mut self) -> &mut dyn UserStore {
        match self {
            Self::Users(store) => *store,
            Self::UsersAndGroups(store) => store.as_users(),
        }
    }
}

/// What a request does with a collection or a resource.
enum Target<I> {
    List(Params),
    Create,
    One(I),
}

/// Returns the target of a request; `None` if its method is not supported there.
fn target<I: std::str::FromStr>(request: Request<'_>, id: Option<&str>) -> Result<Option<Target<I>>, Error> {
    Ok(Some(match (request.method, id) {
        ("GET", None) => Target::List(Params::of_query(request.query)),
        ("POST", None) => Target::Create,
        ("POST", Some(".search")) => Target::List(Params::of_search(&read(request.body)?)?),
        ("GET" | "PUT" | "PATCH" | "DELETE", Some(id)) => {
            Target::One(id.parse().map_err(|_| Error::NotFound)?)
        }
        _ => return Ok(None),
    }))
}

impl Service<'_> {
    pub(super) async fn users(
        &mut self,
        ctx: &Ctx,
        request: Request<'_>,
        id: Option<&str>,
    ) -> Result<Answer, Error> {
        let Some(target) = target::<UserId>(request, id)? else { return Ok(Answer::method_not_allowed()) };
        let base = self.base;
        match target {
            Target::List(params) => {
                let (query, projection) = (params.query(&USERS)?, params.projection(&USERS));
                let found = users::list(self.store.users(), &query, projection.wants("groups")).await?;
                let next = found.next_cursor(&query, |user| user.id.as_str());
                let shown = found.resources.into_iter().map(|user| projection.of(user.into_json(base)));
                Ok(Answer::ok(list_response(found.total, &query.page.start, next, shown.collect())))
            }
            Target::Create => {
                let draft = UserDraft::read(&read(request.body)?)?;
                match users::create(ctx, self.store.users(), draft, self.on_existing).await? {
                    CreatedUser::New(user) => Ok(self.user(201, user, request)),
                    CreatedUser::Existing(user) => Ok(self.user(200, user, request)),
                }
            }
            Target::One(id) => {
                let store = self.store.users();
                let user = match request.method {
                    "PUT" => {
                        let draft = UserDraft::read(&read(request.body)?)?;
                        draft.require_user_name()?;
                        users::replace(ctx, store, &id, draft).await?.user
                    }
                    "PATCH" => {
                        let patch = Patch::read(&USERS, &read(request.body)?)?;
                        users::patch(ctx, store, &id, &patch).await?.user
                    }
                    "DELETE" => {
                        users::delete(ctx, store, &id).await?;
                        return Ok(Answer::no_content());
                    }
                    _ => users::get(store, &id).await?,
                };
                Ok(self.user(200, user, request))
            }
        }
    }

    fn user(&self, status: u16, user: User, request: Request<'_>) -> Answer {
        let projection = Params::of_query(request.query).projection(&USERS);
        let location = user.location(self.base);
        Answer::resource(status, location, projection.of(user.into_json(self.base)))
    }

    pub(super) async fn groups(
        &mut self,
        ctx: &Ctx,
        request: Request<'_>,
        id: Option<&str>,
    ) -> Result<Answer, Error> {
        let base = self.base;
        let Resources::UsersAndGroups(store) = &mut self.store else { return Err(Error::NotFound) };
        let Some(target) = target::<GroupId>(request, id)? else { return Ok(Answer::method_not_allowed()) };
        let store = store.as_groups();
        match target {
            Target::List(params) => {
                let (query, projection) = (params.query(&GROUPS)?, params.projection(&GROUPS));
                let found = groups::list(store, &query, projection.wants("members")).await?;
                let next = found.next_cursor(&query, |(group, _)| group.id.as_str());
                let show =
                    |(group, members): (Group, Vec<UserId>)| projection.of(group.to_json(&members, base));
                let shown = found.resources.into_iter().map(show);
                Ok(Answer::ok(list_response(found.total, &query.page.start, next, shown.collect())))
            }
            Target::Create => {
                let draft = GroupDraft::read(&read(request.body)?)?;
                let created = groups::create(ctx, store, draft).await?;
                self.group(201, created.group, request).await
            }
            Target::One(id) => {
                let ChangedGroup { group, .. } = match request.method {
                    "PUT" => {
                        let draft = GroupDraft::read(&read(request.body)?)?;
                        draft.require_display_name()?;
                        groups::replace(ctx, store, &id, draft).await?
                    }
                    "PATCH" => {
                        groups::patch(ctx, store, &id, &Patch::read(&GROUPS, &read(request.body)?)?).await?
                    }
                    "DELETE" => {
                        groups::delete(store, &id).await?;
                        return Ok(Answer::no_content());
                    }
                    _ => {
                        let group = groups::get(store, &id).await?;
                        return self.group(200, group, request).await;
                    }
                };
                self.group(200, group, request).await
            }
        }
    }

    async fn group(&mut self, status: u16, group: Group, request: Request<'_>) -> Result<Answer, Error> {
        let base = self.base;
        let Resources::UsersAndGroups(store) = &mut self.store else { return Err(Error::NotFound) };
        let projection = Params::of_query(request.query).projection(&GROUPS);
        let wants = projection.wants("members");
        let members = if wants { groups::members(store.as_groups(), &group.id).await? } else { Vec::new() };
        Ok(Answer::resource(status, group.location(base), projection.of(group.to_json(&members, base))))
    }
}

fn read(body: &[u8]) -> Result<Value, Error> {
    let problem = |error| Error::InvalidSyntax(format!("the body is not JSON: {error}"));
    serde_json::from_slice(body).map_err(problem)
}
