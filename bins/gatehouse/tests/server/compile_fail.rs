//! What must not compile: ways around the door to the database.

#[test]
fn there_is_no_way_around_access() {
    let cases = trybuild::TestCases::new();
    cases.pass("tests/ui/as_it_should_be.rs");
    cases.compile_fail("tests/ui/write_without_audit.rs");
    cases.compile_fail("tests/ui/write_with_read_permission.rs");
    cases.compile_fail("tests/ui/database_past_the_door.rs");
    cases.compile_fail("tests/ui/access_without_a_request.rs");
    cases.compile_fail("tests/ui/another_tenants_unit_of_work.rs");
}
