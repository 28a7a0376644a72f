//! The static site and the ages of the sources.

use kitbag_agents::lint::{Age, ages};
use kitbag_agents::{Library, export};
use serde_json::Value;

#[test]
fn the_site_is_complete_and_every_link_in_its_index_leads_to_a_page() {
    let library = Library::built_in();
    let pages = export::pages(&library);
    let page = |path: &str| {
        pages
            .iter()
            .find(|(at, _)| at == path)
            .map(|(_, page)| page)
    };
    let index = page("api/v1/index.json").unwrap();
    let linked = index["agents"]
        .as_array()
        .unwrap()
        .iter()
        .chain(index["capabilities"].as_array().unwrap());
    let linked: Vec<&str> = linked.map(|it| it["url"].as_str().unwrap()).collect();
    assert_eq!(linked.len(), 12 + library.capabilities.len());
    for url in &linked {
        assert!(page(url).is_some(), "{url}");
    }
    assert_eq!(pages.len(), linked.len() + 3);
    let mcp = page("api/v1/capabilities/mcp-support.json").unwrap();
    assert_eq!(mcp["agents"].as_array().unwrap().len(), 12);
    let claude = page("api/v1/agents/claude-code.json").unwrap();
    let schema = page("api/v1/schema.json").unwrap();
    assert!(
        jsonschema::is_valid(schema, claude),
        "what is exported keeps the schema too"
    );
    assert_eq!(
        export::pages(&library),
        pages,
        "the same data gives the same site"
    );
}

#[test]
fn a_source_is_old_after_thirty_days_and_too_old_after_ninety() {
    let library = Library::built_in();
    let worst = |day: &str| {
        let found = ages(&library, day.parse().unwrap());
        found
            .into_iter()
            .filter(|it| it.agent == "claude-code")
            .map(|it| it.age)
            .max()
            .unwrap()
    };
    // All its sources were read on 2026-08-22.
    assert_eq!(worst("2026-08-22"), Age::Fresh);
    assert_eq!(worst("2026-09-21"), Age::Fresh);
    assert_eq!(worst("2026-09-22"), Age::Old);
    assert_eq!(worst("2026-11-20"), Age::Old);
    assert_eq!(worst("2026-11-21"), Age::TooOld);
    let all: usize = ages(&library, "2026-09-01".parse().unwrap())
        .iter()
        .map(|it| it.sources)
        .sum();
    let cited = library
        .agents
        .iter()
        .flat_map(|it| &it.capabilities)
        .map(|it| it.sources.len())
        .sum::<usize>();
    assert_eq!(all, cited);
    let _: Value = serde_json::to_value(ages(&library, "2026-09-01".parse().unwrap())).unwrap();
}
