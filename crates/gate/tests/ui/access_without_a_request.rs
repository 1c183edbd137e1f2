//! A permission made by hand instead of being granted to a caller.

use std::marker::PhantomData;

use gate::{access::Access, permissions::ScimWrite};

fn forged(granted: Access<ScimWrite>) -> Access<ScimWrite> {
    Access { permission: PhantomData, ..granted } //~ E0451
}

fn main() {}
