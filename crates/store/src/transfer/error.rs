//! Why a tenant is not exported or imported.

use std::io;

use kernel::StoreError;

/// Why a tenant was not exported or imported. A failed import changes nothing, unless the database's answer to the commit
/// was lost.
#[derive(Debug, thiserror::Error)]
pub enum TransferError {
    /// The database is an SQLite file that does not exist.
    #[error("the database does not exist")]
    Missing,
    /// The schema of the database is older than this program.
    #[error("the database schema is older than this program: run gatehouse migrate")]
    Behind,
    /// There is no master key to sign or verify the file with.
    #[error("master_key is not set: it signs the file")]
    NoKey,
    /// The tenant to export does not exist.
    #[error("the tenant does not exist")]
    NoTenant,
    /// The file cannot be read or written.
    #[error("the file: {0}")]
    File(#[from] io::Error),
    /// The file has another form.
    #[error("line {0} of the file is not part of an exported tenant")]
    Format(u64),
    /// None of the keys of this installation has signed the file.
    #[error(
        "this installation has none of the master keys of the source: add the first one at the end of master_key"
    )]
    UnknownKey,
    /// The signature is not valid.
    #[error("the file was changed or cut off after the export")]
    Signature,
    /// A value needs a key that the source has and this installation does not.
    #[error("the table {table} has values of the source's master key {key}: add it at the end of master_key")]
    MissingKey {
        /// The table.
        table: String,
        /// The id of the key at the source.
        key: String,
    },
    /// The database of the source had another schema.
    #[error(
        "the file has the schema {file}, this database {here}: use the same version of Gatehouse on both sides"
    )]
    Version {
        /// Newest migration of the source.
        file: String,
        /// Newest migration here.
        here: String,
    },
    /// A table is missing on one side, or has other columns there.
    #[error("the table {0} of the file differs from the one here")]
    Schema(String),
    /// A row belongs to another tenant than the file.
    #[error("the table {0} of the file has a row of another tenant")]
    OtherTenant(String),
    /// The tenant is already there.
    #[error("the tenant exists here already")]
    Exists,
    /// Another tenant has the short name.
    #[error("another tenant here has the slug {0}")]
    Slug(String),
    /// Another tenant has verified an email domain.
    #[error("another tenant here has verified the email domain {0}")]
    Domain(String),
    /// After the import, the rows of a table differ from those of the file.
    #[error("the rows of table {0} differ after the import, so it was undone")]
    Differs(String),
    /// The database failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}
