//! The fuzz target: parsing metadata never panics and trusts only the signer.

use kernel::Timestamp;

use crate::{
    Roots,
    mds::{self, Signer},
};

/// Parses bytes as a signed document, and as the payload of one.
///
/// # Panics
/// If an unsigned document is accepted, or if more is proved than the payload says.
pub fn mds(data: &[u8]) {
    let signer = Signer::fido();
    assert!(signer.is_ok(), "the built-in root certificate is valid");
    if let Ok(signer) = signer {
        assert!(mds::read(data, &signer, Timestamp::from_unix_millis(1_800_000_000_000)).is_err());
    }
    let Ok(metadata) = mds::understand(data) else { return };
    let mut roots = Roots::default();
    roots.add_metadata(&metadata);
    for (aaguid, make) in &metadata.makes {
        let proved = roots.of(*aaguid).count();
        assert_eq!(proved, if make.broken.is_some() { 0 } else { make.roots.len() }, "{aaguid}");
    }
    assert!(roots.provable_models() <= metadata.makes.len());
}
