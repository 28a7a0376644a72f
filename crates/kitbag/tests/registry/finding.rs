//! `kitbag servers find`: searching the registry.

use std::fs;

use serde_json::{Value, json};

use crate::{RegistryHome, WEATHER};

#[tokio::test(flavor = "multi_thread")]
async fn servers_are_found_best_first_in_a_table_that_fits() {
    let home = RegistryHome::new().await;
    let table = home.ok(&["servers", "find", "weather", "forecasts"]).stdout;
    let lines: Vec<_> = table.lines().collect();
    assert!(
        lines[1].starts_with("io.github.acme/weather   npm  Forecasts for any place"),
        "{table}"
    );
    assert!(
        lines[2].contains("io.github.older/weather  npm  (deprecated) Weather as it was"),
        "{table}"
    );
    assert_eq!(
        *lines.last().unwrap(),
        "To add one: kitbag servers add NAME"
    );
    assert_eq!(
        home.test_registry.searches(),
        ["weather forecasts", "weather", "forecasts"]
    );

    let table = home.ok(&["servers", "find", "acme", "--limit", "3"]).stdout;
    assert!(table.contains("3 of 7; show all: --limit 7"), "{table}");
    let table = home.ok(&["servers", "find", "i"]).stdout;
    assert!(!table.contains('\u{1b}'), "{table}");
    assert!(table.contains("npm, pypi"), "{table}");

    let rows: Value =
        serde_json::from_str(&home.ok(&["servers", "find", "weather", "--json"]).stdout).unwrap();
    assert_eq!(rows.as_array().unwrap().len(), 2);
    assert_eq!(
        rows[0],
        json!({
            "name": WEATHER, "title": "Weather", "version": "1.1.0", "description": "Forecasts for any place",
            "kinds": ["npm"], "deprecated": false, "repository": "https://github.com/acme/weather",
        })
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_search_without_results_or_without_a_registry_has_a_remedy() {
    let home = RegistryHome::new().await;
    let printed = home.ok(&["servers", "find", "zzz"]);
    assert!(
        printed.stdout.is_empty() && printed.stderr.contains("No server in HERE has `zzz`"),
        "{}",
        printed.stderr
    );
    assert_eq!(
        home.ok(&["servers", "find", "zzz", "--json"]).stdout.trim(),
        "[]"
    );
    assert_eq!(
        home.fails(&["servers", "find", "too-much"]),
        "error: the registry HERE is rate limiting requests (429)\n  try: try again in 7 seconds\n"
    );
    let printed = home.fails(&[
        "servers",
        "find",
        "x",
        "--registry-url",
        "http://127.0.0.1:1",
    ]);
    assert!(
        printed.contains("http://127.0.0.1:1 cannot be reached")
            && printed.contains("try: check the net"),
        "{printed}"
    );
    assert_eq!(
        home.run(&["servers", "find", "x", "--registry-url", "ftp://h"])
            .code,
        Some(2)
    );

    fs::create_dir_all(home.path(".config/kitbag")).unwrap();
    fs::write(
        home.path(".config/kitbag/kitbag.toml"),
        format!("[registry]\nurl = '{}/'\n", home.test_registry.url),
    )
    .unwrap();
    let mut command = home.command(&["servers", "find", "ledger"]);
    let output = command.env_remove("KITBAG_REGISTRY_URL").output().unwrap();
    assert!(
        String::from_utf8(output.stdout)
            .unwrap()
            .contains("io.github.acme/ledger")
    );
}
