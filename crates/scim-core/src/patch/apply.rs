//! Applies a PATCH: edits the resource's JSON, then validates it like any other body.

use serde_json::{Map, Value};

use super::{Change, Patch, Verb};
use crate::json::remove;
use crate::{
    Error, User, UserDraft,
    filter::{Filter, Operand, Operator},
    fold,
    input::{self, MAX_SIZE, MAX_VALUES},
    schema::{AttrPath, Attribute, Mutability, Type},
};

type Members = Map<String, Value>;

impl User {
    /// Returns this user with the patch applied completely, or an error.
    pub fn patched(&self, patch: &Patch) -> Result<Self, Error> {
        let mut document = self.document();
        for change in &patch.changes {
            change.apply(&mut document)?;
            // A rough limit keeps the work bounded; the final document is checked exactly.
            input::refuse_large(&document, 2 * MAX_SIZE)?;
        }
        self.replaced(UserDraft::read(&Value::Object(document))?)
    }
}

impl Change {
    /// Applies the change to a resource's JSON.
    pub(super) fn apply(&self, document: &mut Members) -> Result<(), Error> {
        let (path, value) = (self.path, &self.value);
        let fixed = [Some(path.attribute), path.sub].into_iter().flatten();
        if let Some(fixed) = fixed.into_iter().find(|one| one.mutability != Mutability::ReadWrite) {
            return if self.named && fixed.mutability == Mutability::ReadOnly {
                Err(Error::Mutability(format!("{path}: is read-only")))
            } else {
                Ok(())
            };
        }
        let verb = if value.is_none() && path.sub.is_none() { Verb::Remove } else { self.verb };
        if verb == Verb::Remove && path.attribute.required && !self.named {
            return Ok(());
        }
        if verb == Verb::Remove && path.attribute.required {
            return Err(Error::Mutability(format!("{path}: is required and cannot be removed")));
        }
        let Some(urn) = path.extension else { return self.within(document, verb) };
        let mut extension = take_object(document, urn);
        self.within(&mut extension, verb)?;
        put_object(document, urn, extension);
        Ok(())
    }

    /// Applies the change to the object that contains the attribute: the resource or one of its extensions.
    fn within(&self, holder: &mut Members, verb: Verb) -> Result<(), Error> {
        let Self { path, number, .. } = *self;
        let (filter, value) = (self.filter.as_ref(), self.value.as_ref());
        if path.attribute.multi_valued {
            Values::take(holder, path, number).change(verb, filter, value)?.put_back(holder);
            return Ok(());
        }
        let selected = match (filter, holder.get(path.attribute.name)) {
            (None, _) => true,
            (Some(filter), Some(current)) => filter.matches(current),
            (Some(_), None) => false,
        };
        match (selected, verb) {
            (true, _) => single(holder, path, verb, value),
            (false, Verb::Remove) => Ok(()),
            (false, _) => Err(no_target(number)),
        }
    }
}

fn no_target(number: usize) -> Error {
    Error::NoTarget(format!("Operations[{number}].path: no value matches the filter"))
}

/// Removes and returns the object with this name, or an empty object.
fn take_object(members: &mut Members, name: &str) -> Members {
    match remove(members, name) {
        Some(Value::Object(inner)) => inner,
        _ => Members::new(),
    }
}

/// Inserts the object unless it is empty.
fn put_object(members: &mut Members, name: &str, inner: Members) {
    if !inner.is_empty() {
        members.insert(name.into(), Value::Object(inner));
    }
}

/// Changes a single-valued attribute or one of its sub-attributes.
fn single(holder: &mut Members, path: AttrPath, verb: Verb, value: Option<&Value>) -> Result<(), Error> {
    let label = path.to_string();
    let Some(sub) = path.sub else { return set(holder, path.attribute, verb, value, &label) };
    let mut whole = take_object(holder, path.attribute.name);
    set(&mut whole, sub, verb, value, &label)?;
    put_object(holder, path.attribute.name, whole);
    Ok(())
}

/// Sets or removes a member. Sub-attributes that the value does not mention are kept.
fn set(
    holder: &mut Members,
    attribute: &Attribute,
    verb: Verb,
    value: Option<&Value>,
    label: &str,
) -> Result<(), Error> {
    let value = value.filter(|value| !value.is_null());
    let (Some(value), Verb::Add | Verb::Replace) = (value, verb) else {
        remove(holder, attribute.name);
        return Ok(());
    };
    if attribute.kind != Type::Complex {
        // Entra wraps plain values: [{"value": "x"}].
        let value = bare(value);
        if let Some(read) = input::single(attribute, value, label)? {
            holder.insert(attribute.name.into(), read);
        }
        return Ok(());
    }
    let parts = match value {
        Value::Object(members) => members.clone(),
        other if Attribute::find(attribute.sub_attributes, "value").is_some() => {
            Members::from_iter([(String::from("value"), other.clone())])
        }
        _ => return Err(Error::invalid(label, "must be an object")),
    };
    let mut whole = take_object(holder, attribute.name);
    for (name, value) in &parts {
        let sub = Attribute::find(attribute.sub_attributes, name);
        if let Some(sub) = sub.filter(|sub| sub.mutability == Mutability::ReadWrite) {
            set(&mut whole, sub, verb, Some(value), &format!("{label}.{}", sub.name))?;
        }
    }
    put_object(holder, attribute.name, whole);
    Ok(())
}

fn bare(value: &Value) -> &Value {
    let one = match value {
        Value::Array(values) if values.len() == 1 => values.first().unwrap_or(value),
        other => other,
    };
    one.get("value").unwrap_or(one)
}

/// The values of a multi-valued attribute during one operation.
struct Values {
    path: AttrPath,
    number: usize,
    all: Vec<Members>,
    /// The indexes of the values that this operation made primary.
    made_primary: Vec<usize>,
}

impl Values {
    fn take(holder: &mut Members, path: AttrPath, number: usize) -> Self {
        let all = match holder.get_mut(path.attribute.name) {
            Some(Value::Array(values)) => std::mem::take(values),
            _ => Vec::new(),
        };
        let all = all.into_iter().filter_map(|value| match value {
            Value::Object(members) => Some(members),
            _ => None,
        });
        Self { path, number, all: all.collect(), made_primary: Vec::new() }
    }

    fn put_back(mut self, holder: &mut Members) {
        // At most one value is primary: the last one that was set (RFC 7644 §3.5.2).
        if let Some(last) = self.made_primary.last() {
            for (index, value) in self.all.iter_mut().enumerate() {
                if index != *last && value.get("primary") == Some(&Value::Bool(true)) {
                    value.insert("primary".into(), Value::Bool(false));
                }
            }
        }
        self.all.retain(|value| !value.is_empty());
        let name = self.path.attribute.name;
        if self.all.is_empty() {
            remove(holder, name);
        } else {
            holder.insert(name.into(), self.all.into_iter().map(Value::Object).collect());
        }
    }

    fn change(mut self, verb: Verb, filter: Option<&Filter>, value: Option<&Value>) -> Result<Self, Error> {
        match (filter, self.path.sub) {
            (None, None) => self.change_whole(verb, value)?,
            (None, Some(_)) => {
                let all = (0..self.all.len()).collect();
                self.change_some(verb, all, Some(&Members::new()), value)?;
            }
            (Some(filter), _) => {
                let matches = |members: &Members| filter.matches(&Value::Object(members.clone()));
                let selected = self.all.iter().enumerate().filter(|(_, members)| matches(members));
                let selected = selected.map(|(index, _)| index).collect();
                let implied = implied_by(filter).filter(|members| matches(members));
                self.change_some(verb, selected, implied.as_ref(), value)?;
            }
        }
        if self.all.len() > MAX_VALUES {
            let problem = format!("send at most {MAX_VALUES} values");
            return Err(Error::invalid(self.path.to_string(), problem));
        }
        Ok(self)
    }

    fn change_whole(&mut self, verb: Verb, value: Option<&Value>) -> Result<(), Error> {
        let sent = self.read_all(verb, value)?;
        match (verb, value) {
            (Verb::Replace, _) => self.all = sent,
            (Verb::Remove, None) => self.all.clear(),
            (Verb::Remove, Some(_)) => {
                self.all.retain(|kept| !sent.iter().any(|named| is_named(kept, named)));
            }
            (Verb::Add, _) => {
                for new in sent {
                    let there = self.all.iter().position(|kept| is_same(kept, &new));
                    let index = there.unwrap_or(self.all.len());
                    if there.is_none() {
                        self.all.push(Members::new());
                    }
                    self.merge(index, new);
                }
            }
        }
        Ok(())
    }

    /// Changes the selected values. If none is selected, adds the value that the filter implies.
    fn change_some(
        &mut self,
        verb: Verb,
        mut selected: Vec<usize>,
        implied: Option<&Members>,
        value: Option<&Value>,
    ) -> Result<(), Error> {
        if verb == Verb::Remove || value.is_none() {
            match self.path.sub {
                None => {
                    let mut index = 0;
                    self.all.retain(|_| {
                        index += 1;
                        !selected.contains(&(index - 1))
                    });
                }
                Some(sub) => {
                    for index in selected {
                        let Some(members) = self.all.get_mut(index) else { continue };
                        remove(members, sub.name);
                        // A value with nothing but `type` and `primary` is empty.
                        if members.keys().all(|left| left == "type" || left == "primary") {
                            members.clear();
                        }
                    }
                }
            }
            return Ok(());
        }
        if selected.is_empty() {
            let implied = implied.cloned().ok_or_else(|| no_target(self.number))?;
            selected.push(self.all.len());
            self.all.push(Members::new());
            self.merge(self.all.len() - 1, implied);
        }
        let Some(value) = value else { return Ok(()) };
        let new = match self.path.sub {
            Some(sub) => {
                let read = input::single(sub, bare(value), &self.path.to_string())?;
                Members::from_iter(read.map(|read| (sub.name.to_owned(), read)))
            }
            None => self.read_one(value)?,
        };
        for index in selected {
            if verb == Verb::Replace && self.path.sub.is_none() {
                // The replaced value must still match the filter.
                if let Some(place) = self.all.get_mut(index) {
                    *place = implied.cloned().unwrap_or_default();
                }
            }
            self.merge(index, new.clone());
        }
        Ok(())
    }

    fn merge(&mut self, index: usize, new: Members) {
        let Some(value) = self.all.get_mut(index) else { return };
        if new.get("primary") == Some(&Value::Bool(true)) {
            self.made_primary.push(index);
        }
        value.extend(new);
    }

    fn read_all(&self, verb: Verb, value: Option<&Value>) -> Result<Vec<Members>, Error> {
        let path = self.path.to_string();
        let list = match value {
            Some(list @ Value::Array(_)) => list.clone(),
            Some(one) => Value::Array(vec![one.clone()]),
            None => return Ok(Vec::new()),
        };
        let read = match verb {
            Verb::Remove => input::elements(self.path.attribute, &list, &path)?,
            Verb::Add | Verb::Replace => match input::multiple(self.path.attribute, &list, &path)? {
                Some(Value::Array(read)) => read,
                _ => Vec::new(),
            },
        };
        Ok(read.into_iter().filter_map(|value| value.as_object().cloned()).collect())
    }

    fn read_one(&self, value: &Value) -> Result<Members, Error> {
        let one = match value {
            Value::Array(values) if values.len() == 1 => values.first().unwrap_or(value),
            other => other,
        };
        match input::single(self.path.attribute, one, &self.path.to_string())? {
            Some(Value::Object(members)) => Ok(members),
            _ => Ok(Members::new()),
        }
    }
}

/// Returns the value that a filter of only `eq` and `and` implies; `None` for other filters.
fn implied_by(filter: &Filter) -> Option<Members> {
    match filter {
        Filter::And(all) => {
            let mut implied = Members::new();
            for filter in all {
                implied.extend(implied_by(filter)?);
            }
            Some(implied)
        }
        Filter::Compare { path, operator: Operator::Eq, operand } => {
            let value = match operand {
                Operand::Text(text) => text.written.clone().into(),
                Operand::Bool(value) => Value::Bool(*value),
                Operand::Time(_) => return None,
            };
            Some(Members::from_iter([(path.attribute.name.to_owned(), value)]))
        }
        _ => None,
    }
}

/// Returns whether an added value already exists: with the same `value` and `type`, or an equal object if it has no
/// `value`.
fn is_same(kept: &Members, new: &Members) -> bool {
    let text = |members: &Members, name: &str| members.get(name).and_then(Value::as_str).map(fold);
    match text(new, "value") {
        Some(value) => text(kept, "value") == Some(value) && text(kept, "type") == text(new, "type"),
        None => kept == new,
    }
}

/// Returns whether a value matches one to remove: by `value` and `type` if it has a `value`, else by all members.
fn is_named(kept: &Members, named: &Members) -> bool {
    let folded = |value: &Value| value.as_str().map_or_else(|| value.clone(), |text| fold(text).into());
    let identity =
        ["value", "type"].into_iter().filter(|name| named.contains_key("value") && named.contains_key(*name));
    let mut names: Vec<_> = identity.map(str::to_owned).collect();
    if names.is_empty() {
        names.extend(named.keys().cloned());
    }
    !names.is_empty() && names.iter().all(|name| kept.get(name).map(folded) == named.get(name).map(folded))
}
