//! Whatever is read as metadata is read without harm, and believed from nobody but its signer.

use kernel::Timestamp;

use crate::{
    Roots,
    mds::{self, Signer},
};

/// Reads bytes as a document, and as what would be signed in one.
///
/// # Panics
/// Where something is believed that nobody has signed, or more is proved than is said.
pub fn mds(data: &[u8]) {
    let signer = Signer::fido();
    assert!(signer.is_ok(), "the root that is built in can be read");
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
