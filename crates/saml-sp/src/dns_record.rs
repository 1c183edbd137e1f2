//! The TXT record that proves ownership of a domain.

use crate::{
    domain::EmailDomain,
    error::DomainError,
    ownership::{DomainRecheck, RecordFound},
};

/// Prefix of the token in the record.
const BEFORE: &str = "gatehouse-domain-verification=";

impl EmailDomain {
    /// Returns the name of the domain's record.
    pub fn record_name(&self) -> String {
        format!("_gatehouse.{self}")
    }

    /// Returns the content of a record with this token.
    pub fn record_value(token: &str) -> String {
        format!("{BEFORE}{token}")
    }

    /// Returns the token that `is_ours` accepts, among the TXT records of [`Self::record_name`]. `records` is `None` if no
    /// DNS server answered.
    pub fn require_record(
        &self,
        records: Option<&[String]>,
        is_ours: impl Fn(&str) -> bool,
    ) -> Result<String, DomainError> {
        match RecordFound::among(records, is_ours) {
            RecordFound::Present(token) => Ok(token),
            RecordFound::Unknown => Err(DomainError::DnsUnavailable(self.clone())),
            RecordFound::Absent => {
                let has_other = records.is_some_and(|records| !records.is_empty());
                Err(DomainError::RecordMissing { domain: self.clone(), has_other })
            }
        }
    }
}

impl DomainRecheck {
    /// Looks among TXT records for the token that was found before, or one that `is_ours` accepts. `records` is `None` if no
    /// DNS server answered.
    pub fn look(&self, records: Option<&[String]>, is_ours: impl Fn(&str) -> bool) -> RecordFound {
        RecordFound::among(records, |token| self.token.as_deref() == Some(token) || is_ours(token))
    }
}

impl RecordFound {
    /// Looks among TXT records for a token that `is_ours` accepts. `records` is `None` if no DNS server answered.
    fn among(records: Option<&[String]>, is_ours: impl Fn(&str) -> bool) -> Self {
        let Some(records) = records else { return Self::Unknown };
        let mut tokens = records.iter().filter_map(|text| text.trim().strip_prefix(BEFORE)).map(str::trim);
        tokens.find(|token| is_ours(token)).map_or(Self::Absent, |token| Self::Present(token.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn token_that_was_found_before_outlives_its_key() {
        let records = [EmailDomain::record_value("new"), EmailDomain::record_value("old")];
        let next_at = kernel::Timestamp::from_unix_millis(0);
        let state = |token: Option<&str>| DomainRecheck {
            token: token.map(str::to_owned),
            missing_since: None,
            next_at,
        };
        let present = |token: &str| RecordFound::Present(token.to_owned());
        assert_eq!(state(Some("old")).look(Some(&records), |_| false), present("old"));
        assert_eq!(state(Some("old")).look(Some(&records), |token| token == "new"), present("new"));
        assert_eq!(state(None).look(Some(&records), |_| false), RecordFound::Absent);
        assert_eq!(state(Some("gone")).look(Some(&records), |_| false), RecordFound::Absent);
        assert_eq!(state(Some("old")).look(None, |_| true), RecordFound::Unknown);
    }

    #[test]
    fn only_a_record_with_our_token_proves_ownership() {
        let domain: EmailDomain = "corp.example".parse().unwrap();
        assert_eq!(domain.record_name(), "_gatehouse.corp.example");
        let records = |texts: &[&str]| texts.iter().map(ToString::to_string).collect::<Vec<_>>();
        let check = |texts: &[&str]| domain.require_record(Some(&records(texts)), |token| token == "ours");
        let ours = EmailDomain::record_value("ours");
        assert_eq!(check(&["v=spf1", &format!(" {ours} ")]).unwrap(), "ours");
        let missing =
            |has_other| DomainError::RecordMissing { domain: domain.clone(), has_other }.to_string();
        assert_eq!(check(&[]).unwrap_err().to_string(), missing(false));
        for other in ["ours", "gatehouse-domain-verification=theirs"] {
            let error = check(&[other]).unwrap_err().to_string();
            assert_eq!(error, missing(true));
            assert!(error.contains("; its value is different. A new record"), "{error}");
        }
        let silent = domain.require_record(None, |_| true);
        assert!(matches!(silent, Err(DomainError::DnsUnavailable(_))));
    }
}
