//! Locates the values that a filter names.

use scim_core::schema::{AttrPath, Type};

use crate::dialect::Dialect;

/// The scope of a filter's attribute names.
#[derive(Debug, Clone, Copy)]
pub(super) enum Scope {
    /// A row of users.
    Users,
    /// A row of groups.
    Groups,
    /// The sub-attributes of a single-valued attribute of the row.
    Parts(Row, AttrPath),
    /// An element `e.value` of an array in `users.folded`.
    Element,
    /// A group `g` of the user.
    GroupOfUser,
    /// A member `m` of the group.
    MemberOfGroup,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Row {
    Users,
    Groups,
}

/// The location of a path's values.
pub(super) enum ValueLocation {
    /// An SQL expression, which may be nullable.
    Value {
        sql: String,
        nullable: bool,
    },
    /// The elements of an array in `users.folded`, or one of their sub-attributes.
    Elements(AttrPath),
    /// Rows of other tables.
    Groups,
    Members,
    /// Always present, and not comparable.
    Always,
}

impl Dialect {
    /// Locates the values of a path.
    pub(super) fn place(self, scope: Scope, path: AttrPath) -> ValueLocation {
        let value = |sql: &str, nullable| ValueLocation::Value { sql: sql.to_owned(), nullable };
        let name = path.attribute.name;
        match scope {
            Scope::Users | Scope::Groups => {
                let row = if matches!(scope, Scope::Users) { Row::Users } else { Row::Groups };
                self.place_in_row(row, path)
            }
            Scope::Parts(row, of) => self.place_in_row(row, AttrPath { sub: Some(path.attribute), ..of }),
            Scope::Element => ValueLocation::Value {
                sql: match self {
                    Self::Postgres => format!("(e.value ->> '{name}') COLLATE \"C\""),
                    Self::Sqlite => format!("json_extract(e.value, '$.\"{name}\"')"),
                },
                nullable: true,
            },
            Scope::GroupOfUser => match name {
                "value" => value("g.id", false),
                "display" => value("g.display_name_key", false),
                _ => self.literal_of_row("direct"),
            },
            Scope::MemberOfGroup => match name {
                "value" => value("m.user_id", false),
                // Case-folded, like the operand.
                _ => self.literal_of_row("user"),
            },
        }
    }

    /// A constant that is compared like a column.
    fn literal(self, text: &str) -> ValueLocation {
        self.bytewise(&format!("'{text}'"))
    }

    /// The same in the subquery of a membership. It depends on the row, because a distributed database cannot plan a
    /// subquery whose condition is known to be false.
    fn literal_of_row(self, text: &str) -> ValueLocation {
        self.bytewise(&format!("('{text}' || substr(m.user_id, 1, 0))"))
    }

    /// An expression that is never NULL, compared bytewise.
    fn bytewise(self, expression: &str) -> ValueLocation {
        let collation = if self == Self::Postgres { " COLLATE \"C\"" } else { "" };
        ValueLocation::Value { sql: format!("({expression}{collation})"), nullable: false }
    }

    fn place_in_row(self, row: Row, path: AttrPath) -> ValueLocation {
        let value = |sql: &str, nullable| ValueLocation::Value { sql: sql.to_owned(), nullable };
        let name = (path.extension, path.attribute.name, path.sub.map(|sub| sub.name));
        match (row, name) {
            (_, (None, "meta", None)) => ValueLocation::Always,
            (Row::Users, (None, "id", _)) => value("users.id", false),
            (Row::Users, (None, "externalId", _)) => value("users.external_id", true),
            (Row::Users, (None, "userName", _)) => value("users.user_name_key", false),
            (Row::Users, (None, "active", _)) => value("users.active", false),
            (Row::Users, (None, "meta", Some("created"))) => value("users.created_at", false),
            (Row::Users, (None, "meta", Some("lastModified"))) => value("users.updated_at", false),
            (Row::Users, (None, "meta", _)) => self.literal("User"),
            (Row::Users, (None, "groups", _)) => ValueLocation::Groups,
            (Row::Users, _) if path.attribute.multi_valued => ValueLocation::Elements(path),
            (Row::Users, _) => ValueLocation::Value { sql: self.folded(path), nullable: true },
            (Row::Groups, (_, "id", _)) => value("groups.id", false),
            (Row::Groups, (_, "externalId", _)) => value("groups.external_id", true),
            (Row::Groups, (_, "displayName", _)) => value("groups.display_name_key", false),
            (Row::Groups, (_, "meta", Some("created"))) => value("groups.created_at", false),
            (Row::Groups, (_, "meta", Some("lastModified"))) => value("groups.updated_at", false),
            (Row::Groups, (_, "meta", _)) => self.literal("Group"),
            (Row::Groups, _) => ValueLocation::Members,
        }
    }

    /// Extracts the text at a path of `users.folded`; NULL if absent.
    pub(super) fn folded(self, path: AttrPath) -> String {
        match self {
            Self::Sqlite => format!("json_extract(users.folded, {})", json_path(path)),
            Self::Postgres => {
                match path.sub.or(Some(path.attribute)).filter(|leaf| leaf.kind != Type::Complex) {
                    Some(_) => format!("(users.folded #>> '{{{}}}') COLLATE \"C\"", names(path).join(",")),
                    None => format!("({})", folded_json(path)),
                }
            }
        }
    }
}

/// Extracts the JSON at a path of `users.folded`, on PostgreSQL.
pub(super) fn folded_json(path: AttrPath) -> String {
    format!("users.folded #> '{{{}}}'", names(path).join(","))
}

/// The names of a path. All come from the schema, none from a client.
fn names(path: AttrPath) -> Vec<&'static str> {
    let sub = path.sub.map(|sub| sub.name);
    path.extension.into_iter().chain([path.attribute.name]).chain(sub).collect()
}

/// Writes the path in SQLite's syntax.
pub(super) fn json_path(path: AttrPath) -> String {
    let quoted: Vec<_> = names(path).into_iter().map(|name| format!(".\"{name}\"")).collect();
    format!("'${}'", quoted.concat())
}
