//! Tests of the catalog with arbitrary listings.

use kitbag_domain::Timestamp;
use kitbag_wire::{Era, raw};
use proptest::prelude::*;
use serde_json::json;

use super::*;

fn listing(tools: &[&str]) -> Arc<Listing> {
    listing_with(tools, &[], &[])
}

fn listing_with(tools: &[&str], uris: &[&str], templates: &[&str]) -> Arc<Listing> {
    Arc::new(Listing {
        listed_at: Timestamp::default(),
        era: Era::Legacy,
        version: "2025-11-25".to_owned(),
        capabilities: raw(&json!({ "tools": {}, "resources": {} })),
        server_info: None,
        instructions: None,
        tools: tools
            .iter()
            .map(|name| raw(&json!({ "vendor": 1, "name": name })))
            .collect(),
        prompts: Vec::new(),
        resources: uris.iter().map(|uri| raw(&json!({ URI: uri }))).collect(),
        templates: templates
            .iter()
            .map(|uri| raw(&json!({ URI_TEMPLATE: uri })))
            .collect(),
        skills: Vec::new(),
        problems: Vec::new(),
        unmasked: Vec::new(),
    })
}

fn build_catalog(listings: BTreeMap<ServerName, Arc<Listing>>) -> Catalog {
    Catalog::build(CatalogSources {
        listings,
        lock: &Lock::default(),
        tool_files: &FileTools::default(),
        overrides: &BTreeMap::new(),
        before: &Catalog::default(),
    })
}

fn catalog() -> Catalog {
    build_catalog(BTreeMap::from([
        ("a".parse().unwrap(), listing(&["search", "get"])),
        ("b".parse().unwrap(), listing(&["search"])),
    ]))
}

#[test]
fn the_same_tool_name_on_two_servers_stays_two_tools() {
    let catalog = catalog();
    let names: Vec<_> = catalog
        .tools
        .iter()
        .map(|entry| entry.exposed.as_str())
        .collect();
    assert_eq!(names, ["a__search", "a__get", "b__search"]);
    assert_eq!(
        catalog
            .tool("b__search")
            .unwrap()
            .capability
            .server
            .as_str(),
        "b"
    );
    assert_eq!(
        catalog.tools[0].definition.get(),
        r#"{"vendor":1,"name":"a__search"}"#
    );
}

fn as_strs(texts: &[String]) -> Vec<&str> {
    texts.iter().map(String::as_str).collect()
}

/// Returns the fastest time of a few builds with `size` entries of each kind.
fn build_time(size: usize) -> std::time::Duration {
    let texts = |what: &str| {
        (0..size)
            .map(|it| format!("{what}{it}"))
            .collect::<Vec<_>>()
    };
    let (tools, uris, templates) = (texts("t"), texts("mem://"), texts("mem://{x}/"));
    let offer = listing_with(&as_strs(&tools), &as_strs(&uris), &as_strs(&templates));
    let timed = |_| {
        let listings = BTreeMap::from([("a".parse().unwrap(), offer.clone())]);
        let started = std::time::Instant::now();
        let catalog = build_catalog(listings);
        assert_eq!(catalog.templates.len(), size);
        started.elapsed()
    };
    (0..3).map(timed).min().unwrap()
}

#[test]
fn build_time_is_linear() {
    // Four times as many entries take four times as long, or sixteen times if each entry scanned
    // all others. A busy machine disturbs some of the attempts.
    let mut attempts = (0..10).map(|_| (build_time(2_500), build_time(10_000)));
    assert!(
        attempts.any(|(small, large)| large < small * 10),
        "10,000 of everything never took less than ten times as long as 2,500"
    );
}

proptest! {
    #[test]
    fn whatever_servers_list_every_name_is_unique_short_and_finds_its_tool(
        first in proptest::collection::vec(definition(), 0..12),
        second in proptest::collection::vec(definition(), 0..12),
    ) {
        let listed = |definitions: &[Value]| {
            let raws: Vec<Raw> = definitions.iter().map(raw).collect();
            let mut listing = (*listing(&[])).clone();
            (listing.tools, listing.prompts) = (raws.clone(), raws.clone());
            (listing.resources, listing.templates) = (raws.clone(), raws);
            Arc::new(listing)
        };
        let catalog = build_catalog(BTreeMap::from([
            ("a".parse().unwrap(), listed(&first)),
            ("a-b".parse().unwrap(), listed(&second)),
        ]));
        let names: HashSet<&str> = catalog.tools.iter().map(|it| it.exposed.as_str()).collect();
        prop_assert_eq!(names.len(), catalog.tools.len());
        for entry in &catalog.tools {
            prop_assert!(entry.exposed.len() <= 64, "{}", entry.exposed);
            let found = catalog.tool(&entry.exposed).map(|it| &it.capability);
            prop_assert_eq!(found, Some(&entry.capability));
        }
    }
}

/// Generates possible list entries of a server: definitions, incomplete definitions, and other
/// values.
fn definition() -> impl Strategy<Value = Value> {
    let name = prop_oneof!["[a-c]{1,2}", "(?s).{0,80}", "[a-z_]{60,90}"];
    let member = prop_oneof![
        name.clone().prop_map(Value::from),
        Just(json!(null)),
        Just(json!(["x"])),
        "[a-z]{1,3}://[a-z{}+]{0,12}".prop_map(Value::from),
    ];
    prop_oneof![
        name.prop_map(|name| json!({ "name": name, "inputSchema": {} })),
        proptest::collection::btree_map("name|uri|uriTemplate|_meta", member.clone(), 0..4)
            .prop_map(|members| json!(members)),
        member,
    ]
}
