//! A permission made by hand instead of being granted to a caller.

use std::marker::PhantomData;

use gatehouse::http::{access::Access, permissions::ScimWrite};

fn forged(granted: Access<ScimWrite>) -> Access<ScimWrite> {
    Access { permission: PhantomData, ..granted }
}

fn main() {}
