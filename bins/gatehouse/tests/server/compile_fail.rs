//! What must not compile: ways around the door to the database.

/// The honest twin of the others, which compiles. Here and not among the cases: for one that is to compile, `trybuild`
/// would build every library to its end once more, and not only check it.
#[expect(dead_code, reason = "that it compiles is all that is asked")]
#[path = "../ui/as_it_should_be.rs"]
mod as_it_should_be;

#[test]
fn there_is_no_way_around_access() {
    let cases = trybuild::TestCases::new();
    cases.compile_fail("tests/ui/write_without_audit.rs");
    cases.compile_fail("tests/ui/write_with_read_permission.rs");
    cases.compile_fail("tests/ui/database_past_the_door.rs");
    cases.compile_fail("tests/ui/access_without_a_request.rs");
    cases.compile_fail("tests/ui/another_tenants_unit_of_work.rs");
}
