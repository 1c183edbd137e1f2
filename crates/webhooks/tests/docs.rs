//! Checks that `docs/guides/receive-webhooks.md` shows the receivers exactly as they are tested.

const PAGE: &str = include_str!("../../../docs/guides/receive-webhooks.md");

const SHOWN: [(&str, &str); 4] = [
    ("js", include_str!("../../../docs/receivers/public-key.mjs")),
    ("js", include_str!("../../../docs/receivers/receiver.mjs")),
    ("python", include_str!("../../../docs/receivers/receiver.py")),
    ("rust", include_str!("../examples/receiver.rs")),
];

#[test]
fn receivers_in_the_docs_equal_the_examples() {
    let blocks: Vec<&str> =
        PAGE.split("\n```").skip(1).step_by(2).filter(|block| !block.starts_with("toml\n")).collect();
    assert_eq!(blocks.len(), SHOWN.len(), "each code block is one of the files");
    for (block, (language, file)) in blocks.iter().zip(SHOWN) {
        let code = block.strip_prefix(language).and_then(|rest| rest.strip_prefix('\n'));
        assert_eq!(
            code.map(|code| format!("{code}\n")).as_deref(),
            Some(file),
            "the {language} block of the page equals its file"
        );
    }
}

#[test]
fn numbers_in_the_docs_equal_the_constants() {
    let page = PAGE.split_whitespace().collect::<Vec<_>>().join(" ");
    let (most, usual) = (webhooks::MAX_OVERLAP_HOURS, webhooks::OVERLAP_HOURS);
    for sentence in [
        format!("at most {} seconds away", webhooks::verify::TOLERANCE),
        format!("up to {most} hours (default: {usual})"),
        "comes again after 5 seconds, 5 minutes, 30 minutes, 2, 5, 10 and 10 hours".to_owned(),
    ] {
        assert!(page.contains(&sentence), "{sentence}");
    }
    assert_eq!(webhooks::STEPS.map(|step| step / 1000), [5, 300, 1800, 7200, 18_000, 36_000, 36_000]);
}
