//! Filters: accepted and rejected input, limits, and the round trip through printing.

use kernel::Timestamp;
use scim_core::{
    Error, Filter,
    conformance::generate::Random,
    filter::{MAX_DEPTH, MAX_TERMS, MAX_VALUE_TERMS},
    schema::{GROUPS, RESOURCE_TYPES, USERS},
};
use serde_json::{Value, json};

fn ada() -> Value {
    json!({
        "id": "usr_1",
        "externalId": "X-1",
        "userName": "Ada@Example.com",
        "active": true,
        "title": "Countess",
        "name": { "givenName": "Ada", "familyName": "ÉCLAIR" },
        "emails": [
            { "value": "ada@work.example", "type": "work", "primary": true },
            { "value": "ada@home.example", "type": "home" },
        ],
        "urn:ietf:params:scim:schemas:extension:enterprise:2.0:User": { "manager": { "value": "usr_2" } },
        "meta": { "resourceType": "User", "lastModified": "2026-01-31T09:30:00.123Z" },
    })
}

fn holds(filter: &str) -> bool {
    let read = Filter::parse(&USERS, filter).unwrap_or_else(|error| panic!("{filter}: {error}"));
    let printed = read.to_string();
    assert_eq!(Filter::parse(&USERS, &printed).unwrap(), read, "{filter} printed as {printed}");
    read.matches(&ada())
}

#[test]
fn filters_match_as_specified() {
    for filter in [
        r#"userName eq "ADA@example.COM""#,
        r#"USERNAME EQ "ada@example.com""#,
        r#"urn:ietf:params:scim:schemas:core:2.0:User:userName sw "ada""#,
        r#"userName eq "\u0061da@example.com""#,
        r#"name.familyName eq "éclair""#,
        r#"externalId eq "X-1""#,
        r#"emails eq "ada@HOME.example""#,
        r#"emails.value co "@home""#,
        r#"emails[type eq "work" and value co "@work"]"#,
        r#"emails[type eq "work"].value eq "ada@work.example""#,
        r#"emails[type eq "home"].value ne "ada@work.example""#,
        r#"emails[not (type eq "work")]"#,
        r#"emails[primary eq true and type eq "work"]"#,
        r#"emails[primary eq "True"]"#,
        "active eq true",
        r#"active eq "True""#,
        "active ne false",
        r#"nickName ne "x""#,
        "nickName eq null",
        "title ne null",
        "not (nickName pr)",
        "emails pr and emails.primary pr and name pr and meta pr",
        r#"urn:ietf:params:scim:schemas:extension:enterprise:2.0:User:manager eq "usr_2""#,
        r#"urn:ietf:params:scim:schemas:extension:enterprise:2.0:User:manager.value eq "usr_2""#,
        r#"meta.lastModified eq "2026-01-31T10:30:00.123+01:00""#,
        r#"meta.lastModified ge "2026-01-31T09:30:00.1234Z""#,
        r#"meta.lastModified lt "2026-01-31T09:30:00.124Z""#,
        r#"meta.resourceType eq "User""#,
        r#"title gt "b" and title lt "D""#,
        r#"title eq "x" and title eq "y" or title pr"#,
        r#"title pr or title eq "x" and title eq "y""#,
        r#"title ew "ESS""#,
        r#"title co """#,
        "name[givenName eq \"ada\"]",
        "  (  active   eq\ttrue )  ",
    ] {
        assert!(holds(filter), "{filter}");
    }
    for filter in [
        r#"externalId eq "x-1""#,
        r#"id eq "USR_1""#,
        r#"emails[type eq "work" and value co "@home"]"#,
        r#"emails.value ne "ada@home.example""#,
        r#"emails[type eq "work"].value ne "ada@work.example""#,
        r#"nickName sw """#,
        "not (title pr) or (active eq false and title pr)",
        r#"title eq "Count%""#,
        "name[formatted pr]",
    ] {
        assert!(!holds(filter), "{filter}");
    }
}

#[test]
fn invalid_filters_are_refused_with_a_reason() {
    for (filter, part) in [
        ("", "expected an attribute, but the text ends"),
        ("userName", "expected an operator"),
        ("userName eq", "expected a value, but the text ends"),
        ("userName eq ada", "a string in quotes"),
        (r#"userName eq "ada"#, "is not closed"),
        (r#"userName is "ada""#, "unknown operator is"),
        (r#"userName eq "\ud800""#, "not a valid JSON string"),
        (r#"userName eq "a\u0000""#, "U+0000"),
        (r#"shoeSize eq "7""#, "unknown attribute shoeSize"),
        (r#"urn:x:User:title eq "7""#, "unknown attribute"),
        (r#"password eq "x""#, "unknown attribute"),
        (r#"groups.$ref eq "x""#, "unknown attribute"),
        ("meta.location pr", "unknown attribute"),
        (r#"name eq "Ada""#, "has sub-attributes"),
        ("active gt true", "cannot be compared"),
        (r#"active co "True""#, "cannot be compared"),
        ("active eq 1", "true or false"),
        (r#"meta.created co "2026""#, "cannot be compared"),
        (r#"meta.created gt "yesterday""#, "a time such as"),
        (r#"meta.created lt "9999-12-31T23:59:59-01:00""#, "a time such as"),
        ("userName eq 7", "a string in quotes"),
        ("userName co null", "null cannot be compared"),
        (r#"userName eq "a" and"#, "expected an attribute, but the text ends"),
        (r#"userName eq "a" userName eq "b""#, "unexpected userName"),
        (r#"(userName eq "a""#, "expected ), but the text ends"),
        (r#"userName eq "a")"#, "unexpected )"),
        (r#"not userName eq "a""#, "expected ( after not"),
        (r#"emails[type eq "a""#, "expected ], but the text ends"),
        ("emails[emails[type pr]]", "unknown attribute"),
        (r#"userName[value eq "a"]"#, "no sub-attributes to filter by"),
        (r#"emails.value[value eq "a"]"#, "no sub-attributes to filter by"),
        (r#"emails[type pr] eq "x""#, "unexpected eq"),
        (r#""a" eq userName"#, "found a string"),
    ] {
        let error = Filter::parse(&USERS, filter).unwrap_err();
        assert!(matches!(error, Error::InvalidFilter(_)), "{filter}: {error:?}");
        assert!(error.to_string().contains(part), "{filter}: {error}");
    }
}

#[test]
fn null_and_empty_values_are_absent() {
    let resource =
        json!({ "title": null, "name": {}, "emails": [{}, null], "phoneNumbers": [], "nickName": "" });
    let matches = |filter: &str| Filter::parse(&USERS, filter).unwrap().matches(&resource);
    for filter in ["title pr", "name pr", "emails pr", "phoneNumbers pr", r#"emails[not (type eq "work")]"#] {
        assert!(!matches(filter), "{filter}");
    }
    assert!(matches("nickName pr"));
}

#[test]
fn depth_is_limited_after_shorthands_are_expanded() {
    let nested = |levels: usize| {
        let path = r#"emails[type eq "work" or type eq "home"].value co "x""#;
        Filter::parse(&USERS, &format!("{}{path}{}", "not (".repeat(levels), ")".repeat(levels)))
    };
    assert!(nested(MAX_DEPTH - 2).is_ok());
    for levels in [MAX_DEPTH - 1, MAX_DEPTH] {
        let refused = nested(levels).map(drop).unwrap_err();
        assert!(refused.to_string().contains("nested"), "{levels}: {refused}");
    }
}

#[test]
fn errors_name_the_position() {
    let problem = |filter: &str| Filter::parse(&USERS, filter).unwrap_err().to_string();
    for (filter, end) in [
        (r#"userName eq "ada"#, "the string at position 12 is not closed"),
        ("userName", "before position 8"),
        ("userName is \"ada\"", "before position 11"),
    ] {
        assert!(problem(filter).ends_with(end), "{}", problem(filter));
    }
}

#[test]
fn filters_at_the_limits_are_accepted_and_beyond_refused() {
    let nested = |levels: usize| format!("{}active eq true{}", "not (".repeat(levels), ")".repeat(levels));
    assert!(holds(&nested(30)));
    assert!(!holds(&nested(31)));
    assert!(holds(&nested(MAX_DEPTH)));
    let terms = |count: usize| vec!["active eq false"; count - 1].join(" or ") + " or active eq true";
    assert!(holds(&terms(50)));
    assert!(holds(&terms(MAX_TERMS)));
    for hostile in [
        nested(MAX_DEPTH + 1),
        terms(MAX_TERMS + 1),
        terms(5_000),
        "(".repeat(10_000),
        format!("{}active eq true{}", "(".repeat(10_000), ")".repeat(10_000)),
        "emails[".repeat(10_000),
        format!("title eq \"{}\"", "x".repeat(1_000_000)),
        " ".repeat(1_000_000),
        "not(".repeat(250_000),
    ] {
        // The stack is too small for deep recursion.
        let run = std::thread::Builder::new().stack_size(1024 * 1024).spawn(move || {
            let started = std::time::Instant::now();
            (Filter::parse(&USERS, &hostile).is_err(), started.elapsed())
        });
        let (refused, took) = run.unwrap().join().unwrap();
        assert!(refused);
        assert!(took.as_millis() < 50, "took {took:?}");
    }
}

#[test]
fn comparisons_with_multi_valued_attributes_are_limited() {
    let parsed = |term: &str, count: usize, between: &str| {
        Filter::parse(&USERS, &vec![term; count].join(&format!(" {between} ")))
    };
    for term in [
        r#"emails.value co "x""#,
        r#"emails.type eq "work""#,
        r#"phoneNumbers eq "x""#,
        "emails.type pr",
        r#"not (emails.value eq "x")"#,
        r#"emails ne "x""#,
        r#"groups.display eq "x""#,
    ] {
        assert!(parsed(term, MAX_VALUE_TERMS, "or").is_ok(), "{term}");
        let error = parsed(term, MAX_VALUE_TERMS + 1, "and").unwrap_err();
        assert!(
            matches!(error, Error::InvalidFilter(_)) && error.to_string().contains("more than"),
            "{error}"
        );
    }
    assert!(parsed(r#"emails[value co "x" or type co "y"]"#, MAX_VALUE_TERMS / 2, "or").is_ok());
    assert!(parsed(r#"emails[value co "x" or type co "y"]"#, MAX_VALUE_TERMS / 2 + 1, "or").is_err());
    for term in [
        r#"emails.value eq "x""#,
        r#"emails eq "x""#,
        r#"groups eq "grp_1""#,
        "emails pr",
        r#"title co "x""#,
        r#"name[givenName co "x"]"#,
    ] {
        assert!(parsed(term, MAX_TERMS, "or").is_ok(), "{term}");
    }
}

#[test]
fn attributes_of_other_resource_types_are_absent() {
    let parse = |text| Filter::parse_among(&USERS, &RESOURCE_TYPES, text).unwrap().matches(&ada());
    assert!(!parse(r#"members.value eq "x""#));
    assert!(parse(r#"members.value ne "x""#));
    assert!(parse("not (members pr) and members eq null"));
    assert!(!parse(r#"members[value eq "x"]"#));
    assert!(parse(r#"members eq "x" or userName sw "ada""#));
    assert!(Filter::parse_among(&GROUPS, &RESOURCE_TYPES, "shoeSize pr").is_err());
}

#[test]
fn filter_uses_the_attributes_it_names() {
    for (filter, uses) in [
        ("groups pr", true),
        (r#"groups.display eq "Engines""#, true),
        (r#"groups[display eq "Engines"]"#, true),
        ("title pr and (nickName pr or not (groups pr))", true),
        ("title pr", false),
        (r#"title eq "groups" or emails[type eq "work"]"#, false),
    ] {
        assert_eq!(Filter::parse(&USERS, filter).unwrap().uses("groups"), uses, "{filter}");
    }
}

#[test]
fn parentheses_are_printed_only_where_they_are_needed() {
    for filter in [
        "title pr and nickName pr or active eq true",
        "title pr and (nickName pr or active eq true)",
        "not (title pr and nickName pr)",
        r#"emails[type eq "work" and value pr]"#,
    ] {
        assert_eq!(Filter::parse(&USERS, filter).unwrap().to_string(), filter);
    }
    let needless = Filter::parse(&USERS, "((title pr) and (nickName pr)) or (active eq true)").unwrap();
    assert_eq!(needless.to_string(), "title pr and nickName pr or active eq true");
}

#[test]
fn printed_filters_parse_to_the_same_filter() {
    let now: Timestamp = "2026-01-01T00:00:00.000Z".parse().unwrap();
    let ids = vec!["usr_1".to_owned()];
    for seed in 0..20_000 {
        let mut random = Random::new(seed);
        let kind = RESOURCE_TYPES[random.below(2)];
        let depth = random.below(6);
        let filter = random.filter(kind, depth, &ids, now);
        let printed = filter.to_string();
        let read = match Filter::parse(kind, &printed) {
            // A generated filter may exceed the limits of the parser.
            Err(error) if error.to_string().contains("more than") => continue,
            read => read.unwrap_or_else(|error| panic!("{printed}: {error}")),
        };
        assert_eq!(read, filter, "{printed}");
    }
}
