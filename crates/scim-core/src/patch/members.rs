//! PATCH of a group. A group may have thousands of members, so they are not loaded: the patch is reduced to who
//! joins, who leaves, and whether all others stay.

use std::collections::BTreeSet;

use kernel::UserId;
use serde_json::{Map, Value};

use super::{Change, Patch, Verb};
use crate::{
    Error, Group, GroupDraft,
    filter::{Filter, Operand, Operator},
    input,
};

/// The membership changes of a group.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MemberChanges {
    /// Whether all members who are not in `join` are removed.
    pub replace: bool,
    /// The users to add.
    pub join: BTreeSet<UserId>,
    /// The users to remove.
    pub leave: BTreeSet<UserId>,
}

impl MemberChanges {
    /// Creates changes that replace all members by these.
    pub fn exactly(members: BTreeSet<UserId>) -> Self {
        Self { replace: true, join: members, leave: BTreeSet::new() }
    }

    /// Returns whether there is nothing to change.
    pub fn is_empty(&self) -> bool {
        !self.replace && self.join.is_empty() && self.leave.is_empty()
    }

    fn add(&mut self, id: UserId) {
        self.leave.remove(&id);
        self.join.insert(id);
    }

    fn remove(&mut self, id: UserId) {
        self.join.remove(&id);
        if !self.replace {
            self.leave.insert(id);
        }
    }
}

impl Group {
    /// Returns this group with the patch applied, and the membership changes to make.
    pub fn patched(&self, patch: &Patch) -> Result<(Self, MemberChanges), Error> {
        let mut document = self.document();
        let mut members = MemberChanges::default();
        for change in &patch.changes {
            if change.path.attribute.name == "members" {
                change.apply_to_members(&mut members)?;
            } else {
                change.apply(&mut document)?;
            }
        }
        let draft = GroupDraft::read(&Value::Object(document))?;
        Ok((self.replaced(draft)?, members))
    }

    /// Returns the writable attributes except `members`, as JSON.
    fn document(&self) -> Map<String, Value> {
        let mut document = Map::new();
        document.insert("displayName".into(), self.display_name.as_str().into());
        if let Some(external_id) = &self.external_id {
            document.insert("externalId".into(), external_id.as_str().into());
        }
        document
    }
}

impl Change {
    fn apply_to_members(&self, members: &mut MemberChanges) -> Result<(), Error> {
        if let (None, Some(filter), Verb::Remove) = (self.path.sub, &self.filter, self.verb) {
            let mut named = Vec::new();
            if !selected(filter, &mut named) {
                let problem = "select members to remove by value eq \"…\", joined with or";
                return Err(Error::InvalidFilter(format!("Operations[{}].path: {problem}", self.number)));
            }
            for id in named {
                members.remove(id);
            }
            return Ok(());
        }
        if self.path.sub.is_some() || self.filter.is_some() {
            let problem = "members can only be added or removed as a whole";
            return Err(Error::Mutability(format!("{}: {problem}", self.path)));
        }
        match (self.verb, &self.value) {
            (Verb::Remove, None) => *members = MemberChanges::exactly(BTreeSet::new()),
            (Verb::Remove, Some(value)) => {
                // An invalid id cannot be a member, so there is nothing to remove.
                let ids = listed(value).into_iter().filter_map(|(_, id)| id.ok());
                ids.for_each(|id| members.remove(id));
            }
            (Verb::Replace, value) => {
                *members = MemberChanges::exactly(value.as_ref().map_or(Ok(BTreeSet::new()), member_ids)?);
            }
            (Verb::Add, Some(value)) => member_ids(value)?.into_iter().for_each(|id| members.add(id)),
            (Verb::Add, None) => {}
        }
        Ok(())
    }
}

/// Collects the ids in `value eq "…" or value eq "…"`; returns `false` for any other filter. Invalid ids are skipped.
fn selected(filter: &Filter, ids: &mut Vec<UserId>) -> bool {
    match filter {
        Filter::Or(all) => all.iter().all(|filter| selected(filter, ids)),
        Filter::Compare { path, operator: Operator::Eq, operand: Operand::Text(text) }
            if path.attribute.name == "value" =>
        {
            ids.extend(text.written.parse());
            true
        }
        _ => false,
    }
}

/// Reads member ids: objects with a `value`, or bare strings.
pub(crate) fn member_ids(value: &Value) -> Result<BTreeSet<UserId>, Error> {
    listed(value).into_iter().map(|(place, id)| id.map_err(|()| Error::no_such_member(&place))).collect()
}

fn listed(value: &Value) -> Vec<(String, Result<UserId, ()>)> {
    let all = match value {
        Value::Array(all) => all.as_slice(),
        Value::Null => &[],
        one => std::slice::from_ref(one),
    };
    let id = |(index, value): (usize, &Value)| {
        let named = value.as_object().and_then(|member| input::member(member, "value")).unwrap_or(value);
        let id = named.as_str().and_then(|text| text.parse().ok()).ok_or(());
        (format!("members[{index}].value"), id)
    };
    all.iter().enumerate().map(id).collect()
}
