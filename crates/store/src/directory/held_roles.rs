//! The roles of a user, as columns and subqueries of `users`.

use diesel::{
    AppearsOnTable, Expression, QueryResult, SelectableExpression,
    backend::Backend,
    expression::ValidGrouping,
    prelude::*,
    query_builder::{AstPass, QueryFragment, QueryId},
    serialize::ToSql,
    sql_types::{HasSqlType, Nullable, Text},
};
use directory::{HeldRoles, Permission, Permissions, Role};
use kernel::{StoreResult, TenantId};

use crate::{error::corrupt, schema::users};

/// An SQL expression over a row of `users`, in which `{tenant}` stands for the tenant: a distributed database runs a subquery
/// on one node only if it compares the tenant with a parameter. Unlike raw SQL of diesel, it has a static query ID, so that
/// statements with it stay prepared.
macro_rules! of_user {
    ($(#[$doc:meta])+ $name:ident = $sql:expr) => {
        $(#[$doc])+
        #[derive(Debug, Clone, ValidGrouping)]
        pub(crate) struct $name(String);

        impl QueryId for $name {
            type QueryId = Self;
            const HAS_STATIC_QUERY_ID: bool = true;
        }
        impl Expression for $name {
            type SqlType = Nullable<Text>;
        }
        impl<From> AppearsOnTable<From> for $name {}
        impl<From> SelectableExpression<From> for $name {}

        impl<DB> QueryFragment<DB> for $name
        where
            DB: Backend + HasSqlType<Text>,
            String: ToSql<Text, DB>,
        {
            fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, DB>) -> QueryResult<()> {
                let mut pieces = $sql.split("{tenant}");
                out.push_sql(pieces.next().unwrap_or_default());
                for piece in pieces {
                    out.push_bind_param::<Text, _>(&self.0)?;
                    out.push_sql(piece);
                }
                Ok(())
            }
        }
    };
}

/// The rules that give a role to the user of a row of `users`: for groups, and for claims that meet this condition.
macro_rules! applying_rules {
    ($claims:literal) => {
        concat!(
            "role_rules AS rules WHERE rules.tenant_id = {tenant} AND (EXISTS (SELECT 1 FROM group_members AS members \
             WHERE members.tenant_id = {tenant} AND members.group_id = rules.group_id \
             AND members.user_id = users.id) OR EXISTS (SELECT 1 FROM claimed_groups AS claimed \
             WHERE claimed.tenant_id = {tenant} AND claimed.user_id = users.id \
             AND claimed.provider_id = rules.provider_id AND claimed.value = rules.value",
            $claims,
            "))"
        )
    };
    () => {
        applying_rules!("")
    };
}
pub(crate) use applying_rules;

/// Defines the row with the roles of a user, of which those for claims count only under a condition.
macro_rules! held_row {
    ($(#[$doc:meta])+ $row:ident, $given:ident, $own:ident, $claims:literal) => {
        of_user!(
            /// The roles that rules give, separated by commas.
            $given = concat!("(SELECT string_agg(rules.role, ',') FROM ", applying_rules!($claims), ")")
        );
        of_user!(
            /// The permissions of all roles of the tenant's own that the user has, separated by spaces.
            $own = concat!(
                "(SELECT string_agg(roles.permissions, ' ') FROM roles WHERE roles.tenant_id = {tenant} \
                 AND (roles.id = users.other_role OR roles.id IN (SELECT rules.role FROM ",
                applying_rules!($claims),
                ")))"
            )
        );

        $(#[$doc])+
        #[derive(Queryable)]
        pub(crate) struct $row {
            role: String,
            other_role: Option<String>,
            given: Option<String>,
            own_permissions: Option<String>,
        }

        impl $row {
            /// Returns the columns of a user in this tenant.
            pub(crate) fn of(tenant: &TenantId) -> (users::role, OtherRole, $given, $own) {
                (users::role, OtherRole, $given(tenant.to_string()), $own(tenant.to_string()))
            }

            pub(crate) fn held(self) -> StoreResult<HeldRoles> {
                let assigned = AssignedRow { role: self.role, other_role: self.other_role };
                held(assigned, self.given.as_deref(), self.own_permissions.as_deref())
            }
        }
    };
}

held_row!(
    /// All roles that a user can have.
    HeldRow, GivenRoles, OwnPermissions, ""
);
held_row!(
    /// The roles of a user in a session of the same statement: those for claims only if the session began at the connection
    /// that named the groups. Otherwise somebody who knows another way into the account would get them, too.
    SessionHeldRow, GivenToSession, OwnPermissionsOfSession, " AND claimed.provider_id = sessions.provider_id"
);
held_row!(
    /// The roles of a user for a program with a personal access token: none for claims.
    TokenHeldRow, GivenToToken, OwnPermissionsOfToken, " AND 1 = 0"
);

/// The assigned role of a user with `role` MEMBER, if it is another one.
#[derive(Debug, Clone, Copy, QueryId, ValidGrouping)]
pub(crate) struct OtherRole;

impl Expression for OtherRole {
    type SqlType = Nullable<Text>;
}
impl<From> AppearsOnTable<From> for OtherRole {}
impl<From> SelectableExpression<From> for OtherRole {}

impl<DB: Backend> QueryFragment<DB> for OtherRole {
    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, DB>) -> QueryResult<()> {
        out.push_sql("users.other_role");
        Ok(())
    }
}

/// The assigned role in the columns of `users`.
///
/// Servers before roles other than ADMIN and MEMBER read `role` alone, and see users with another role as members.
#[derive(Queryable, Selectable)]
#[diesel(table_name = users)]
pub(crate) struct AssignedRow {
    role: String,
    #[diesel(select_expression = OtherRole, select_expression_type = OtherRole)]
    other_role: Option<String>,
}

impl AssignedRow {
    pub(crate) fn assigned(self) -> StoreResult<Role> {
        let role: Role = self.role.parse().map_err(|error| corrupt("users.role", error))?;
        match self.other_role.filter(|_| role == Role::Member) {
            Some(other) => other.parse().map_err(|error| corrupt("users.other_role", error)),
            None => Ok(role),
        }
    }
}

/// Returns the values of the columns `role` and `other_role`.
pub(crate) fn columns_of(role: &Role) -> (&'static str, Option<&str>) {
    match role {
        Role::Admin => ("ADMIN", None),
        Role::Member => ("MEMBER", None),
        other => ("MEMBER", Some(other.as_str())),
    }
}

fn held(assigned: AssignedRow, given: Option<&str>, own: Option<&str>) -> StoreResult<HeldRoles> {
    let role = |text: &str| text.parse().map_err(|error| corrupt("role_rules.role", error));
    let given = given.unwrap_or_default().split(',').filter(|text| !text.is_empty());
    let given = given.map(role).collect::<StoreResult<Vec<Role>>>()?;
    Ok(HeldRoles::new(assigned.assigned()?, given, permissions(own.unwrap_or_default())))
}

/// Reads permissions, separated by spaces. Those that only newer servers know are left out.
pub(crate) fn permissions(text: &str) -> Permissions {
    text.split(' ').filter_map(|name| name.parse::<Permission>().ok()).collect()
}
