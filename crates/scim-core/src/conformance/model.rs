//! A small reference model of users and groups: what each request changes, without storage and without schemas.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use super::generate::Random;

/// Few names and addresses, so that they conflict often.
const NAMES: [&str; 6] = ["ada", "Ada", "bob", "carol@x.example", "CAROL@x.example", "dan@x.example"];
const ADDRESSES: [&str; 5] =
    ["ada@x.example", "ADA@x.example", "bob@x.example", "carol@x.example", "dan@x.example"];
const TITLES: [&str; 3] = ["Countess", "countess", "Engineer"];
const GROUPS: [&str; 4] = ["Staff", "staff", "Engines", "Night shift"];
/// An ID that no user has.
const STRANGER: &str = "usr_00000000000000000000000000";

#[derive(Debug, Clone, Default)]
pub(super) struct Model {
    pub(super) users: Vec<ModelUser>,
    pub(super) groups: Vec<ModelGroup>,
}

#[derive(Debug, Clone, Default)]
pub(super) struct ModelUser {
    id: String,
    user_name: String,
    external_id: Option<String>,
    title: Option<String>,
    active: bool,
    emails: Vec<String>,
    /// The index of the primary address.
    primary: Option<usize>,
}

#[derive(Debug, Clone, Default)]
pub(super) struct ModelGroup {
    id: String,
    display_name: String,
    members: BTreeSet<String>,
}

fn pick(random: &mut Random, from: &[&str]) -> String {
    from.get(random.below(from.len())).copied().unwrap_or_default().to_owned()
}

impl ModelUser {
    /// Draws the attributes of a request.
    pub(super) fn draw(random: &mut Random) -> Self {
        let emails: Vec<_> = (0..random.below(3)).map(|_| pick(random, &ADDRESSES)).collect();
        let is_primary = !emails.is_empty() && random.once_in(2);
        Self {
            id: String::new(),
            user_name: pick(random, &NAMES),
            external_id: random.once_in(2).then(|| format!("X-{}", random.below(3))),
            title: random.once_in(2).then(|| pick(random, &TITLES)),
            active: !random.once_in(4),
            primary: is_primary.then(|| random.below(emails.len())),
            emails,
        }
    }

    fn emails(&self) -> Value {
        let email = |(at, value): (usize, &String)| {
            if self.primary == Some(at) {
                json!({ "value": value, "primary": true })
            } else {
                json!({ "value": value })
            }
        };
        self.emails.iter().enumerate().map(email).collect()
    }

    /// Returns the body of a request with these attributes.
    pub(super) fn body(&self) -> Value {
        let mut body = Map::new();
        body.insert("userName".into(), json!(self.user_name));
        body.insert("active".into(), json!(self.active));
        let optional = [("externalId", &self.external_id), ("title", &self.title)];
        for (name, value) in optional {
            if let Some(value) = value {
                body.insert(name.into(), json!(value));
            }
        }
        if !self.emails.is_empty() {
            body.insert("emails".into(), self.emails());
        }
        body.into()
    }

    /// Returns the address that the user signs in with, in lower case.
    fn address(&self) -> Option<String> {
        let chosen = self.primary.and_then(|at| self.emails.get(at)).or(self.emails.first());
        let text = chosen.unwrap_or(&self.user_name).to_lowercase();
        text.contains('@').then_some(text)
    }
}

impl ModelGroup {
    /// Draws the attributes of a request.
    pub(super) fn draw(model: &Model, random: &mut Random) -> Self {
        let mut members: BTreeSet<_> = (0..random.below(3)).filter_map(|_| model.member(random)).collect();
        if random.once_in(10) {
            members.insert(STRANGER.to_owned());
        }
        Self { id: String::new(), display_name: pick(random, &GROUPS), members }
    }

    /// Returns the body of a request with these attributes.
    pub(super) fn body(&self) -> Value {
        let members: Vec<_> = self.members.iter().map(|id| json!({ "value": id })).collect();
        json!({ "displayName": self.display_name, "members": members })
    }
}

impl Model {
    fn member(&self, random: &mut Random) -> Option<String> {
        let at = random.below(self.users.len().max(1));
        self.users.get(at).map(|user| user.id.clone())
    }

    pub(super) fn user_path(&self, at: usize) -> String {
        let id = self.users.get(at).map_or(STRANGER, |user| user.id.as_str());
        format!("/Users/{id}")
    }

    pub(super) fn group_path(&self, at: usize) -> String {
        let id = self.groups.get(at).map_or("grp_00000000000000000000000000", |group| group.id.as_str());
        format!("/Groups/{id}")
    }

    /// Sets the ID that the service gave to the newest resource.
    pub(super) fn name_newest(&mut self, kind: &str, id: &str) {
        let newest = match kind {
            "Users" => self.users.last_mut().map(|user| &mut user.id),
            _ => self.groups.last_mut().map(|group| &mut group.id),
        };
        if let Some(newest) = newest {
            id.clone_into(newest);
        }
    }

    /// Whether another user has this user's name or address.
    fn is_taken(&self, user: &ModelUser) -> bool {
        let name = user.user_name.to_lowercase();
        self.users.iter().filter(|other| other.id != user.id).any(|other| {
            let has_address = user.address().is_some() && other.address() == user.address();
            other.user_name.to_lowercase() == name || has_address
        })
    }

    pub(super) fn create_user(&mut self, user: ModelUser) -> bool {
        let is_free = !self.is_taken(&user);
        if is_free {
            self.users.push(user);
        }
        is_free
    }

    /// Replaces all attributes of a user, and returns the status.
    pub(super) fn replace_user(&mut self, at: usize, user: ModelUser) -> u16 {
        let Some(id) = self.users.get(at).map(|user| user.id.clone()) else { return 404 };
        let user = ModelUser { id, ..user };
        if self.is_taken(&user) {
            return 409;
        }
        if let Some(kept) = self.users.get_mut(at) {
            *kept = user;
        }
        200
    }

    pub(super) fn delete_user(&mut self, at: usize) -> bool {
        if at >= self.users.len() {
            return false;
        }
        let user = self.users.remove(at);
        for group in &mut self.groups {
            group.members.remove(&user.id);
        }
        true
    }

    /// Draws a PATCH of a user. Returns the user after it, if the user exists, and the operation.
    pub(super) fn patched_user(&self, at: usize, random: &mut Random) -> (Option<ModelUser>, Value) {
        let mut user = self.users.get(at).cloned();
        let with = ModelUser::draw(random);
        let mut change = |change: &dyn Fn(&mut ModelUser)| {
            if let Some(user) = &mut user {
                change(user);
            }
        };
        let operation = match random.below(7) {
            0 => {
                change(&|user| user.active = with.active);
                json!({ "op": "replace", "path": "active", "value": with.active })
            }
            1 => {
                change(&|user| user.user_name.clone_from(&with.user_name));
                json!({ "op": "Replace", "path": "userName", "value": with.user_name })
            }
            2 => {
                change(&|user| {
                    user.active = with.active;
                    user.user_name.clone_from(&with.user_name);
                });
                json!({ "op": "replace", "value": { "active": with.active, "userName": with.user_name } })
            }
            3 => {
                change(&|user| {
                    user.emails.clone_from(&with.emails);
                    user.primary = with.primary;
                });
                json!({ "op": "replace", "path": "emails", "value": with.emails() })
            }
            4 => {
                change(&|user| {
                    user.emails.clear();
                    user.primary = None;
                });
                json!({ "op": "remove", "path": "emails" })
            }
            5 => {
                change(&|user| user.title = None);
                json!({ "op": "remove", "path": "title" })
            }
            _ => {
                let title = pick(random, &TITLES);
                change(&|user| user.title = Some(title.clone()));
                json!({ "op": "add", "path": "title", "value": title })
            }
        };
        (user, operation)
    }

    fn name_is_taken(&self, group: &ModelGroup) -> bool {
        let name = group.display_name.to_lowercase();
        let others = self.groups.iter().filter(|other| other.id != group.id);
        others.into_iter().any(|other| other.display_name.to_lowercase() == name)
    }

    fn has_strangers(&self, group: &ModelGroup) -> bool {
        group.members.iter().any(|member| self.users.iter().all(|user| user.id != *member))
    }

    /// Creates a group, and returns the status.
    pub(super) fn create_group(&mut self, group: ModelGroup) -> u16 {
        if self.name_is_taken(&group) {
            409
        } else if self.has_strangers(&group) {
            400
        } else {
            self.groups.push(group);
            201
        }
    }

    /// Replaces name and members of a group, and returns the status.
    pub(super) fn replace_group(&mut self, at: usize, group: ModelGroup) -> u16 {
        let Some(id) = self.groups.get(at).map(|group| group.id.clone()) else { return 404 };
        let group = ModelGroup { id, ..group };
        // Members are checked first.
        if self.has_strangers(&group) {
            return 400;
        }
        if self.name_is_taken(&group) {
            return 409;
        }
        if let Some(kept) = self.groups.get_mut(at) {
            *kept = group;
        }
        200
    }

    pub(super) fn delete_group(&mut self, at: usize) -> bool {
        let exists = at < self.groups.len();
        if exists {
            self.groups.remove(at);
        }
        exists
    }

    /// Draws a PATCH of a group. Returns the group after it, if the group exists, and the operation.
    pub(super) fn patched_group(&self, at: usize, random: &mut Random) -> (Option<ModelGroup>, Value) {
        let mut group = self.groups.get(at).cloned();
        let with = ModelGroup::draw(self, random);
        let members = with.body().get("members").cloned().unwrap_or_default();
        let operation = match random.below(5) {
            0 => {
                if let Some(group) = &mut group {
                    group.display_name.clone_from(&with.display_name);
                }
                json!({ "op": "replace", "path": "displayName", "value": with.display_name })
            }
            1 => {
                if let Some(group) = &mut group {
                    group.members.clone_from(&with.members);
                }
                json!({ "op": "replace", "path": "members", "value": members })
            }
            2 => {
                let leaving = self.member(random).unwrap_or_else(|| STRANGER.to_owned());
                if let Some(group) = &mut group {
                    group.members.remove(&leaving);
                }
                json!({ "op": "remove", "path": format!("members[value eq \"{leaving}\"]") })
            }
            _ => {
                if let Some(group) = &mut group {
                    group.members.extend(with.members.iter().cloned());
                }
                json!({ "op": "add", "path": "members", "value": members })
            }
        };
        (group, operation)
    }

    /// Returns lists, and the resources that each must have.
    pub(super) fn lists(&self) -> Vec<(String, Vec<Value>)> {
        let users = |is_found: &dyn Fn(&ModelUser) -> bool| {
            self.users.iter().filter(|user| is_found(user)).map(|user| self.shown_user(user)).collect()
        };
        let groups = |is_found: &dyn Fn(&ModelGroup) -> bool| {
            self.groups.iter().filter(|group| is_found(group)).map(shown_group).collect()
        };
        let anybody = self.users.first().map_or(STRANGER, |user| user.id.as_str());
        vec![
            ("/Users?count=100".into(), users(&|_| true)),
            ("/Groups?count=100".into(), groups(&|_| true)),
            (
                "/Users?count=100&filter=userName%20eq%20%22ADA%22".into(),
                users(&|user| user.user_name.eq_ignore_ascii_case("ada")),
            ),
            (
                "/Users?count=100&filter=active%20eq%20false%20and%20emails%20pr".into(),
                users(&|user| !user.active && !user.emails.is_empty()),
            ),
            (
                "/Users?count=100&filter=emails.value%20eq%20%22ada@x.example%22".into(),
                users(&|user| user.emails.iter().any(|email| email.eq_ignore_ascii_case("ada@x.example"))),
            ),
            (
                "/Users?count=100&filter=externalId%20eq%20%22X-1%22".into(),
                users(&|user| user.external_id.as_deref() == Some("X-1")),
            ),
            (
                format!("/Groups?count=100&filter=members%20eq%20%22{anybody}%22"),
                groups(&|group| group.members.contains(anybody)),
            ),
        ]
    }

    fn shown_user(&self, user: &ModelUser) -> Value {
        let mut shown = user.body();
        let mut groups: Vec<_> = self
            .groups
            .iter()
            .filter(|group| group.members.contains(&user.id))
            .map(|group| json!(group.id))
            .collect();
        groups.sort_by_key(Value::to_string);
        if let Some(members) = shown.as_object_mut() {
            members.insert("id".into(), json!(user.id));
            if !user.emails.is_empty() {
                members.insert("emails".into(), json!(user.emails));
            }
            if let Some(primary) = user.primary.and_then(|at| user.emails.get(at)) {
                members.insert("primary".into(), json!(primary));
            }
            if !groups.is_empty() {
                members.insert("groups".into(), groups.into());
            }
        }
        shown
    }
}

fn shown_group(group: &ModelGroup) -> Value {
    let mut shown = json!({ "id": group.id, "displayName": group.display_name });
    if let Some(members) = shown.as_object_mut().filter(|_| !group.members.is_empty()) {
        members.insert("members".into(), json!(group.members));
    }
    shown
}
