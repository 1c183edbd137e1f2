//! Files of entries, as CSV or NDJSON, optionally with inclusion proofs.

use data_encoding::BASE64;
use kernel::Timestamp;
use serde::Serialize;
use serde_json::json;

use crate::{
    EntryView, InvalidParameter, ListedEntry, csv,
    log::Hash,
    ocsf::{OcsfEvent, Source},
};

/// The format of an export.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "lowercase")]
pub enum ExportFormat {
    /// Comma-separated values, safe to open in spreadsheets.
    Csv,
    /// One JSON object per line.
    Ndjson,
    /// One OCSF event per line ([`crate::ocsf`]).
    Ocsf,
}

impl ExportFormat {
    /// Returns the name in the API.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Csv => "csv",
            Self::Ndjson => "ndjson",
            Self::Ocsf => "ocsf",
        }
    }

    /// Returns the end of the names of files.
    fn extension(self) -> &'static str {
        match self {
            Self::Csv => "csv",
            Self::Ndjson => "ndjson",
            Self::Ocsf => "ocsf.ndjson",
        }
    }

    /// Returns the media type.
    pub fn media_type(self) -> &'static str {
        match self {
            Self::Csv => "text/csv; charset=utf-8; header=present",
            Self::Ndjson | Self::Ocsf => "application/x-ndjson",
        }
    }
}

/// An exported entry.
#[derive(Debug)]
pub struct Exported {
    /// The entry with its actor's name.
    pub listed: ListedEntry,
    /// The inclusion proof in the log of the checkpoint, if proofs were requested and the entry is sealed.
    pub proof: Option<Proof>,
}

/// The inclusion proof of an entry.
#[derive(Debug)]
pub struct Proof {
    /// Position of the entry in the log.
    pub sequence: u64,
    /// The sibling hashes, from the leaf upwards.
    pub path: Vec<Hash>,
}

/// How an export is written.
#[derive(Debug, Clone, Copy)]
pub struct ExportWriter {
    /// The format of the file.
    pub format: ExportFormat,
    /// Whether the first line is the checkpoint and each entry has its proof, for
    /// [`verify_export`](crate::log::verify_export).
    pub with_proofs: bool,
}

/// An exported entry with its proof.
#[derive(Serialize)]
struct ProvedEntry {
    #[serde(flatten)]
    entry: EntryView,
    proof: EntryProof,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct EntryProof {
    sequence: u64,
    path: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ip_salt: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ip_commitment: Option<String>,
}

impl ExportWriter {
    /// Parses the values of the parameters `format` and `proofs`.
    pub fn read(format: Option<&str>, proofs: Option<&str>) -> Result<Self, InvalidParameter> {
        let format = match format {
            None | Some("" | "csv") => ExportFormat::Csv,
            Some("ndjson") => ExportFormat::Ndjson,
            Some("ocsf") => ExportFormat::Ocsf,
            Some(_) => return Err(InvalidParameter::new("format", "write csv, ndjson or ocsf")),
        };
        let with_proofs = match proofs {
            None | Some("" | "false") => false,
            Some("true") if format == ExportFormat::Ndjson => true,
            Some("true") => return Err(InvalidParameter::new("proofs", "with format=ndjson")),
            Some(_) => return Err(InvalidParameter::new("proofs", "write true or false")),
        };
        Ok(Self { format, with_proofs })
    }

    /// Returns the name of the file of an export at this time.
    pub fn file_name(self, now: Timestamp) -> String {
        format!("audit-log-{}.{}", now.naive().format("%Y-%m-%d"), self.format.extension())
    }

    /// Returns the beginning of the file: the header of a CSV file, or the checkpoint that the proofs refer to.
    pub fn head(self, checkpoint: Option<&str>) -> Vec<u8> {
        match self.format {
            ExportFormat::Csv => csv::HEADER.into(),
            ExportFormat::Ndjson if self.with_proofs => {
                format!("{}\n", json!({ "checkpoint": checkpoint })).into_bytes()
            }
            ExportFormat::Ndjson | ExportFormat::Ocsf => Vec::new(),
        }
    }

    /// Appends the line of an entry. With proofs, entries that are not sealed yet are left out. `source` is named in OCSF
    /// events. Fails if a stored payload is not JSON.
    pub fn line(
        self,
        out: &mut Vec<u8>,
        exported: Exported,
        source: &Source,
    ) -> Result<(), serde_json::Error> {
        match self.format {
            ExportFormat::Csv => csv::line(out, &exported.listed),
            ExportFormat::Ndjson if self.with_proofs => {
                if let Exported { listed, proof: Some(proof) } = exported {
                    json_line(out, &ProvedEntry::new(listed, &proof)?)?;
                }
            }
            ExportFormat::Ndjson => json_line(out, &EntryView::try_from(exported.listed)?)?,
            ExportFormat::Ocsf => {
                OcsfEvent::of(&exported.listed, None, source, |event| json_line(out, event))?;
            }
        }
        Ok(())
    }
}

impl ProvedEntry {
    fn new(listed: ListedEntry, proof: &Proof) -> Result<Self, serde_json::Error> {
        let (ip_salt, ip_commitment) = listed.entry.shown_commitment();
        let path = encoded(&proof.path);
        let proof = EntryProof { sequence: proof.sequence, path, ip_salt, ip_commitment };
        Ok(Self { entry: EntryView::try_from(listed)?, proof })
    }
}

fn json_line(out: &mut Vec<u8>, value: &impl Serialize) -> Result<(), serde_json::Error> {
    serde_json::to_writer(&mut *out, value)?;
    out.push(b'\n');
    Ok(())
}

/// Encodes hashes in base64.
pub(crate) fn encoded(path: &[Hash]) -> Vec<String> {
    path.iter().map(|hash| BASE64.encode(hash)).collect()
}
