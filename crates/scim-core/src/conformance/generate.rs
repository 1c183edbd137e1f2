//! Random resources and filters for property tests such as "memory and storage agree". A small vocabulary makes
//! filters match resources often. The same seed gives the same sequence.

use kernel::Timestamp;
use serde_json::{Map, Value, json};

use crate::json::remove;
use crate::{
    Filter,
    filter::{Operand, Operator, TextOperand},
    fold,
    schema::{AttrPath, Attribute, COMMON, ResourceType, Type},
};

/// A pseudorandom generator (xorshift64*).
#[derive(Debug, Clone)]
pub struct Random(u64);

/// Text samples that stress case, folding, wildcards, quotes, length and Unicode planes.
const WORDS: [&str; 22] = [
    "a", "A", "ab", "Ab", "b", "é", "É", "ß", "ẞ", "ſ", "s", "\u{212a}", "k", "%", "_", "a%b", "\\", "'",
    "\"", "😀", "a b", "",
];
const ADDRESSES: [&str; 6] =
    ["a@x.example", "A@X.example", "b@x.example", "é@x.example", "a_b@y.example", "ab@x.example"];
const TYPES: [&str; 5] = ["work", "Work", "home", "other", "a"];

impl Random {
    /// Creates a generator with this seed.
    pub fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    /// Returns a number below `end`, which must not be 0.
    pub fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        let number = self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33;
        usize::try_from(number).unwrap_or(0) % end.max(1)
    }

    /// Returns `true` with probability 1 in `of`.
    pub fn once_in(&mut self, of: usize) -> bool {
        self.below(of) == 0
    }

    fn pick<T: Copy>(&mut self, from: &[T]) -> Option<T> {
        let index = self.below(from.len());
        from.get(index).copied()
    }

    fn text(&mut self, name: &str) -> String {
        let word = match name {
            "userName" if self.once_in(2) => self.pick(&ADDRESSES),
            "type" => self.pick(&TYPES),
            _ => self.pick(&WORDS),
        };
        let word = word.unwrap_or_default().to_owned();
        if self.once_in(4) { format!("{word}{}", self.pick(&WORDS).unwrap_or_default()) } else { word }
    }

    /// Returns a user's JSON as a client may send it; `name` makes its userName unique.
    pub fn user(&mut self, kind: &ResourceType, name: &str) -> Value {
        let mut user = self.members(kind.schema.attributes);
        for extension in kind.extensions {
            if self.once_in(2) {
                user.insert(extension.id.into(), Value::Object(self.members(extension.attributes)));
            }
        }
        user.insert("userName".into(), format!("{}{name}", self.text("userName")).into());
        user.insert("active".into(), (!self.once_in(3)).into());
        if self.once_in(2) {
            user.insert("externalId".into(), self.text("externalId").into());
        }
        Value::Object(user)
    }

    fn members(&mut self, attributes: &'static [Attribute]) -> Map<String, Value> {
        let mut members = Map::new();
        for attribute in attributes {
            if self.once_in(2) || attribute.name == "groups" {
                continue;
            }
            let value = if attribute.multi_valued {
                let count = 1 + self.below(3);
                (0..count).map(|_| self.value(attribute)).collect()
            } else {
                self.value(attribute)
            };
            members.insert(attribute.name.into(), value);
        }
        members
    }

    fn value(&mut self, attribute: &'static Attribute) -> Value {
        match attribute.kind {
            Type::Complex if attribute.name == "emails" => {
                let value = self.pick(&ADDRESSES);
                let mut email = json!({ "value": value });
                if let (Some(kind), true, Some(members)) =
                    (self.pick(&TYPES), !self.once_in(3), email.as_object_mut())
                {
                    members.insert("type".into(), kind.into());
                }
                email
            }
            Type::Complex => {
                let mut members = self.members(attribute.sub_attributes);
                // At most one value may be primary.
                remove(&mut members, "primary");
                if self.once_in(3) && Attribute::find(attribute.sub_attributes, "primary").is_some() {
                    members.insert("primary".into(), false.into());
                }
                Value::Object(members)
            }
            Type::Boolean => (!self.once_in(2)).into(),
            _ => self.text(attribute.name).into(),
        }
    }

    /// Returns a filter over resources of this kind, at most `depth` levels deep. `ids` are the texts to compare ids
    /// with; `now` is a time near the resources' timestamps.
    pub fn filter(
        &mut self,
        kind: &'static ResourceType,
        depth: usize,
        ids: &[String],
        now: Timestamp,
    ) -> Filter {
        let paths = paths(kind);
        self.filter_of(&paths, depth, ids, now)
    }

    /// Returns a filter that compares this attribute, or sub-attributes of one of its values.
    pub fn filter_about(
        &mut self,
        kind: &'static ResourceType,
        name: &str,
        ids: &[String],
        now: Timestamp,
    ) -> Filter {
        let mut paths = paths(kind);
        paths.retain(|path| path.attribute.name == name);
        self.filter_of(&paths, 1, ids, now)
    }

    fn filter_of(&mut self, paths: &[AttrPath], depth: usize, ids: &[String], now: Timestamp) -> Filter {
        let choice = if depth == 0 { self.below(6) } else { self.below(11) };
        let inner = depth.saturating_sub(1);
        match choice {
            10 => Filter::Not(Box::new(self.filter_of(paths, inner, ids, now))),
            8 | 9 => {
                let count = 2 + self.below(2);
                let all = (0..count).map(|_| self.filter_of(paths, inner, ids, now)).collect();
                if choice == 8 { Filter::And(all) } else { Filter::Or(all) }
            }
            6 | 7 => {
                let complex: Vec<_> = paths
                    .iter()
                    .filter(|path| path.sub.is_none() && path.attribute.kind == Type::Complex)
                    .copied()
                    .collect();
                let Some(path) = self.pick(&complex) else { return self.comparison(paths, ids, now) };
                let parts = path.attribute.sub_attributes.iter().map(AttrPath::part);
                let parts: Vec<_> = parts.filter(AttrPath::is_comparable).collect();
                Filter::Any { path, filter: Box::new(self.filter_of(&parts, inner, ids, now)) }
            }
            _ => self.comparison(paths, ids, now),
        }
    }

    fn comparison(&mut self, paths: &[AttrPath], ids: &[String], now: Timestamp) -> Filter {
        use Operator::{Eq, Ge, Gt, Le, Lt, Ne};
        let index = self.below(paths.len());
        let Some(path) = paths.get(index).copied() else { return Filter::And(Vec::new()) };
        if path.leaf().kind == Type::Complex || self.once_in(6) {
            return Filter::Present(path);
        }
        let (operators, operand): (&[Operator], _) = match path.leaf().kind {
            Type::Boolean => (&[Eq, Ne], Operand::Bool(self.once_in(2))),
            Type::DateTime => {
                let offset = i64::try_from(self.below(5)).unwrap_or(0) - 2;
                (&[Eq, Ne, Gt, Ge, Lt, Le], Operand::Time(now.plus_millis(offset)))
            }
            _ => (&Operator::ALL, Operand::Text(self.operand(path, ids))),
        };
        let operator = self.pick(operators).unwrap_or(Eq);
        Filter::Compare { path, operator, operand }
    }

    fn operand(&mut self, path: AttrPath, ids: &[String]) -> TextOperand {
        let leaf = path.leaf();
        let written = match (path.attribute.name, leaf.name) {
            ("id", _) | ("groups" | "members", "value") if !self.once_in(3) => {
                let index = self.below(ids.len());
                ids.get(index).cloned().unwrap_or_default()
            }
            ("emails", "value") if !self.once_in(3) => self.pick(&ADDRESSES).unwrap_or_default().to_owned(),
            (_, "resourceType") if self.once_in(2) => "User".to_owned(),
            _ => self.text(leaf.name),
        };
        let key = if leaf.case_exact { written.clone() } else { fold(&written) };
        TextOperand { written, key }
    }
}

/// Returns all paths that a filter over resources of this kind may name.
pub fn paths(kind: &'static ResourceType) -> Vec<AttrPath> {
    let own = kind.schema.attributes.iter().chain(COMMON).map(|attribute| (None, attribute));
    let of = |schema: &&'static crate::schema::Schema| {
        let urn = schema.id;
        schema.attributes.iter().map(move |attribute| (Some(urn), attribute))
    };
    let all = own.chain(kind.extensions.iter().flat_map(of));
    let paths = all.flat_map(|(extension, attribute)| {
        let whole = AttrPath { extension, attribute, sub: None };
        let parts = attribute.sub_attributes.iter().map(move |sub| AttrPath { sub: Some(sub), ..whole });
        [whole].into_iter().chain(parts)
    });
    paths.filter(AttrPath::is_comparable).collect()
}
