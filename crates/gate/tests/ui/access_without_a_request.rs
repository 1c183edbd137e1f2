//! Creates a permission by hand instead of having it granted to a caller.

use std::marker::PhantomData;

use gate::{access::Access, permissions::ScimWrite};

fn forged(granted: Access<ScimWrite>) -> Access<ScimWrite> {
    Access { permission: PhantomData, ..granted } //~ E0451
}

fn main() {}
