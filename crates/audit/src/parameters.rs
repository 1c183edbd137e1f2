//! Query parameters of searches and exports.

use kernel::Timestamp;

use crate::{Catalog, Filter, InvalidParameter, error::FilterError};

/// The conditions of a search, as written. All of them apply.
#[derive(Debug, Clone, Default)]
#[cfg_attr(feature = "openapi", derive(utoipa::IntoParams))]
#[cfg_attr(feature = "openapi", into_params(parameter_in = Query, rename_all = "camelCase"))]
pub struct FilterParameters {
    /// ID of the actor: `usr_…`, or `sct_…` of a SCIM token.
    user_id: Option<String>,
    /// Event types, or prefixes of event types followed by `*`, separated by commas.
    #[cfg_attr(
        feature = "openapi",
        param(pattern = r"^(\s*([A-Za-z0-9_.]+\*?|\*)\s*(,\s*([A-Za-z0-9_.]+\*?|\*)\s*)*)?$")
    )]
    action: Option<String>,
    /// Type of the resource, such as `user`.
    resource_type: Option<String>,
    /// ID of the resource.
    resource_id: Option<String>,
    /// Text in action, resource or metadata: at most 200 characters.
    #[cfg_attr(feature = "openapi", param(max_length = 200))]
    q: Option<String>,
    /// Start of the time range, inclusive (RFC 3339).
    #[cfg_attr(feature = "openapi", param(format = "date-time"))]
    from: Option<String>,
    /// End of the time range, exclusive (RFC 3339).
    #[cfg_attr(feature = "openapi", param(format = "date-time"))]
    to: Option<String>,
}

impl FilterParameters {
    /// Reads the parameters with `get`, which returns the value of a parameter. Empty values count as absent.
    pub fn read(get: impl Fn(&str) -> Option<String>) -> Self {
        let said = |name: &str| get(name).filter(|value| !value.is_empty());
        Self {
            user_id: said("userId"),
            action: said("action"),
            resource_type: said("resourceType"),
            resource_id: said("resourceId"),
            q: said("q"),
            from: said("from"),
            to: said("to"),
        }
    }

    fn named(&self) -> [(&'static str, Option<&str>); 7] {
        [
            ("userId", self.user_id.as_deref()),
            ("action", self.action.as_deref()),
            ("resourceType", self.resource_type.as_deref()),
            ("resourceId", self.resource_id.as_deref()),
            ("q", self.q.as_deref()),
            ("from", self.from.as_deref()),
            ("to", self.to.as_deref()),
        ]
    }

    /// Returns the names of the parameters that are set.
    pub fn names(&self) -> Vec<String> {
        let is_set = self.named().into_iter().filter(|(_, value)| value.is_some());
        is_set.map(|(name, _)| name.to_owned()).collect()
    }

    /// Parses the parameters. `catalog` resolves event types and resource types.
    pub fn filter(self, catalog: &Catalog) -> Result<Filter, InvalidParameter> {
        let is_nul = |value: Option<&str>| value.is_some_and(|value| value.contains('\0'));
        if let Some((name, _)) = self.named().into_iter().find(|(_, value)| is_nul(*value)) {
            return Err(FilterError::Nul.of(name));
        }
        let time = |name, value: Option<String>| {
            let parsed = value.map(|value| value.parse::<Timestamp>()).transpose();
            parsed.map_err(|_| FilterError::Time.of(name))
        };
        let mut filter = Filter {
            actor: self.user_id,
            resource_id: self.resource_id,
            from: time("from", self.from)?,
            to: time("to", self.to)?,
            ..Filter::default()
        };
        if let Some(words) = self.action {
            filter = filter.with_actions(&words, catalog).map_err(|error| error.of("action"))?;
        }
        if let Some(kind) = self.resource_type {
            filter = filter.with_resource_type(&kind, catalog);
        }
        if let Some(text) = self.q {
            filter = filter.with_text(&text).map_err(|error| error.of("q"))?;
        }
        Ok(filter)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::events::catalog;

    fn filter(parameters: &[(&str, &str)]) -> Result<Filter, String> {
        let get = |name: &str| {
            parameters.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
        };
        FilterParameters::read(get).filter(catalog()).map_err(|error| error.to_string())
    }

    #[test]
    fn parameters_become_conditions_and_empty_ones_are_ignored() {
        let found = filter(&[
            ("userId", "usr_1"),
            ("action", "ACCOUNT_PAT_REVOKED"),
            ("q", "ABC"),
            ("from", "2026-01-31T09:30:00Z"),
            ("to", ""),
            ("resourceId", ""),
        ]);
        let expected = Filter {
            actor: Some("usr_1".into()),
            actions: Some(vec!["ACCOUNT_PAT_REVOKED".into()]),
            text: Some("abc".into()),
            from: Some("2026-01-31T09:30:00Z".parse().unwrap()),
            ..Filter::default()
        };
        assert_eq!(found, Ok(expected));
        let found = filter(&[("resourceId", "usr_2"), ("to", "2026-02-01T00:00:00Z")]);
        let to = Some("2026-02-01T00:00:00Z".parse().unwrap());
        assert_eq!(found, Ok(Filter { resource_id: Some("usr_2".into()), to, ..Filter::default() }));
        let get = |name: &str| ["q", "userId", "other"].contains(&name).then(|| "x".to_owned());
        assert_eq!(FilterParameters::read(get).names(), ["userId", "q"]);
    }

    #[test]
    fn invalid_parameters_are_named() {
        let time = "from: write a time such as 2026-01-31T09:30:00Z";
        assert_eq!(filter(&[("from", "yesterday")]), Err(time.into()));
        let nul = "q: must not contain the character U+0000";
        assert_eq!(filter(&[("q", "a\0")]), Err(nul.into()));
        let action = "action: \"a b\" is neither an event code nor a prefix followed by *";
        assert_eq!(filter(&[("action", "a b")]), Err(action.into()));
    }
}
