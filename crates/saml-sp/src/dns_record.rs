//! The TXT record that proves ownership of a domain.

use crate::{domain::EmailDomain, error::DomainError, ownership::RecordFound};

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

    /// Requires that one of the TXT records of [`Self::record_name`] has a token that `is_ours` accepts. `records` is
    /// `None` if no DNS server answered.
    pub fn require_record(
        &self,
        records: Option<&[String]>,
        is_ours: impl Fn(&str) -> bool,
    ) -> Result<(), DomainError> {
        match RecordFound::among(records, is_ours) {
            RecordFound::Present => Ok(()),
            RecordFound::Unknown => Err(DomainError::DnsUnavailable(self.clone())),
            RecordFound::Absent => {
                let has_other = records.is_some_and(|records| !records.is_empty());
                Err(DomainError::RecordMissing { domain: self.clone(), has_other })
            }
        }
    }
}

impl RecordFound {
    /// Looks among TXT records for a token that `is_ours` accepts. `records` is `None` if no DNS server answered.
    pub fn among(records: Option<&[String]>, is_ours: impl Fn(&str) -> bool) -> Self {
        let token =
            |text: &String| text.trim().strip_prefix(BEFORE).is_some_and(|token| is_ours(token.trim()));
        match records {
            None => Self::Unknown,
            Some(records) if records.iter().any(token) => Self::Present,
            Some(_) => Self::Absent,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_record_with_our_token_proves_ownership() {
        let domain: EmailDomain = "corp.example".parse().unwrap();
        assert_eq!(domain.record_name(), "_gatehouse.corp.example");
        let records = |texts: &[&str]| texts.iter().map(ToString::to_string).collect::<Vec<_>>();
        let check = |texts: &[&str]| domain.require_record(Some(&records(texts)), |token| token == "ours");
        let ours = EmailDomain::record_value("ours");
        assert!(check(&["v=spf1", &format!(" {ours} ")]).is_ok());
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
