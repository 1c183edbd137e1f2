//! Which OCSF class and activity an audit event has.

/// A class of events.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Class {
    /// A user account or one of its factors changed.
    AccountChange,
    /// A sign-in, a step-up or the end of a session.
    Authentication,
    /// Another object changed.
    EntityManagement,
    /// A user received or lost a role.
    UserAccess,
    /// A group changed.
    GroupManagement,
    /// The audit log or events were read.
    ApiActivity,
}

/// `activity_id` of activities that OCSF does not name.
pub(super) const OTHER: u8 = 99;

impl Class {
    /// Returns `class_uid`.
    pub fn uid(self) -> u32 {
        match self {
            Self::AccountChange => 3001,
            Self::Authentication => 3002,
            Self::EntityManagement => 3004,
            Self::UserAccess => 3005,
            Self::GroupManagement => 3006,
            Self::ApiActivity => 6003,
        }
    }

    /// Returns `class_name`.
    pub fn name(self) -> &'static str {
        match self {
            Self::AccountChange => "Account Change",
            Self::Authentication => "Authentication",
            Self::EntityManagement => "Entity Management",
            Self::UserAccess => "User Access Management",
            Self::GroupManagement => "Group Management",
            Self::ApiActivity => "API Activity",
        }
    }

    /// Returns `category_uid` and `category_name`.
    pub(super) fn category(self) -> (u32, &'static str) {
        match self {
            Self::ApiActivity => (6, "Application Activity"),
            _ => (3, "Identity & Access Management"),
        }
    }

    /// Returns `activity_name`, if OCSF names the activity.
    pub(super) fn activity(self, id: u8) -> Option<&'static str> {
        let names: &[&str] = match self {
            Self::AccountChange => &[
                "Create",
                "Enable",
                "Password Change",
                "Password Reset",
                "Disable",
                "Delete",
                "Attach Policy",
                "Detach Policy",
                "Lock",
                "MFA Factor Enable",
                "MFA Factor Disable",
            ],
            Self::Authentication => &["Logon", "Logoff"],
            Self::EntityManagement | Self::ApiActivity => &["Create", "Read", "Update", "Delete"],
            Self::UserAccess => &["Assign Privileges", "Revoke Privileges"],
            Self::GroupManagement => {
                &["Assign Privileges", "Revoke Privileges", "Add User", "Remove User", "Delete", "Create"]
            }
        };
        names.get(usize::from(id).checked_sub(1)?).copied()
    }
}

/// Class, activity and outcome of an event type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mapping {
    /// The class.
    pub class: Class,
    /// `activity_id`
    pub activity: u8,
    /// Whether the event is a refusal or a failure.
    pub is_failure: bool,
}

/// Returns the mapping of an event type. Types without a rule of their own are changes of entities, by their ending.
pub fn mapping(code: &str) -> Mapping {
    use Class::{AccountChange, ApiActivity, Authentication, GroupManagement, UserAccess};
    let (class, activity) = match code.strip_prefix("ACCOUNT_").unwrap_or(code) {
        "USER_CREATED" => (AccountChange, 1),
        "USER_REACTIVATED" => (AccountChange, 2),
        "PASSWORD_CHANGED" => (AccountChange, 3),
        "PASSWORD_RESET_STARTED" => (AccountChange, 4),
        "USER_DEACTIVATED" => (AccountChange, 5),
        "USER_DELETED" => (AccountChange, 6),
        "FACTOR_ENROLLED" | "ATTESTATION_POLICY_BLOCKED" => (AccountChange, 10),
        "FACTOR_REMOVED" => (AccountChange, 11),
        "USER_UPDATED" | "USER_INVITED" | "FACTOR_RENAMED" | "RECOVERY_CODES_GENERATED" => {
            (AccountChange, OTHER)
        }
        "SIGN_IN_SUCCEEDED" | "SIGN_IN_FAILED" | "SAML_SIGN_IN_REFUSED" | "OIDC_SIGN_IN_REFUSED" => {
            (Authentication, 1)
        }
        "SESSION_REVOKED" | "SESSIONS_REVOKED" | "SAML_LOGOUT_REFUSED" | "OIDC_LOGOUT_REFUSED" => {
            (Authentication, 2)
        }
        "SESSION_STARTED"
        | "SESSIONS_STEP_UP_REQUIRED"
        | "SESSION_RENEWED"
        | "SESSION_BOUND"
        | "SESSION_COOKIE_REFUSED"
        | "SIGN_IN_NEW_DEVICE"
        | "RECOVERY_CODE_USED"
        | "NETWORK_POLICY_BLOCKED"
        | "STEPUP_ISSUED"
        | "STEPUP_CONSUMED"
        | "STEPUP_FAILED"
        | "STEPUP_REFUSED" => (Authentication, OTHER),
        "USER_ROLE_CHANGED" => (UserAccess, 1),
        // Users who got a role, or lost it.
        "ROLE_GIVEN" => (Class::EntityManagement, 3),
        "GROUP_CREATED" => (GroupManagement, 6),
        "GROUP_DELETED" => (GroupManagement, 5),
        "GROUP_UPDATED" => (GroupManagement, OTHER),
        "AUDIT_LOG_EXPORTED" | "AUDIT_LOG_EXPORT_FINISHED" => (ApiActivity, 2),
        other => (Class::EntityManagement, entity_activity(other)),
    };
    let is_failure = ["_FAILED", "_REFUSED", "_BLOCKED", "_FAILING"].iter().any(|end| code.ends_with(end));
    Mapping { class, activity, is_failure }
}

fn entity_activity(code: &str) -> u8 {
    let ends = |endings: &[&str]| endings.iter().any(|ending| code.ends_with(ending));
    if ends(&["_CREATED", "_ADDED"]) {
        1
    } else if ends(&["_UPDATED", "_CHANGED", "_RENAMED", "_REPLACED", "_ROTATED"]) {
        3
    } else if ends(&["_DELETED", "_REMOVED", "_REVOKED"]) {
        4
    } else {
        OTHER
    }
}
