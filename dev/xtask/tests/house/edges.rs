//! Checks the allowed dependencies between crates.
//!
//! The rule and its reasons are in ARCHITECTURE.md, under "The crates".

use std::process::Command;

use serde_json::Value;

/// Each crate, and all workspace crates that it may depend on. Planned crates are already listed.
const MAY_KNOW: &[(&str, &[&str])] = &[
    ("kitbag-domain", &[]),
    ("kitbag-wire", &[]),
    ("kitbag-fetch", &[]),
    ("kitbag-tool-spec", &[]),
    ("kitbag-simd", &[]),
    ("kitbag-encoder", &["kitbag-simd"]),
    ("kitbag-policy", &["kitbag-domain"]),
    (
        "kitbag-schema",
        &["kitbag-domain", "kitbag-wire", "kitbag-script"],
    ),
    (
        "kitbag-store",
        &["kitbag-tool-spec", "kitbag-domain", "kitbag-testkit"],
    ),
    (
        "kitbag-relevance",
        &["kitbag-domain", "kitbag-simd", "kitbag-encoder"],
    ),
    ("kitbag-budget", &["kitbag-wire"]),
    ("kitbag-clients", &["kitbag-domain"]),
    (
        "kitbag-registry",
        &["kitbag-domain", "kitbag-fetch", "kitbag-testkit"],
    ),
    ("kitbag-lockfile", &["kitbag-domain", "kitbag-wire"]),
    ("kitbag-script", &[]),
    // Its tests need itself with the feature for attacks.
    (
        "kitbag-sandbox",
        &["kitbag-domain", "kitbag-script", "kitbag-sandbox"],
    ),
    ("kitbag-intents", &["kitbag-domain"]),
    ("kitbag-tool-server", &["kitbag-wire"]),
    (
        "kitbag-agents",
        &["kitbag-domain", "kitbag-tool-server", "kitbag-wire"],
    ),
    ("kitbag-demo", &["kitbag-tool-server", "kitbag-wire"]),
    ("kitbag-eval", &["kitbag-fetch", "kitbag-llm"]),
    (
        "kitbag-apis",
        &[
            "kitbag-tool-spec",
            "kitbag-domain",
            "kitbag-wire",
            "kitbag-fetch",
        ],
    ),
    // Its tests need the crates whose functions are passed to it.
    (
        "kitbag-tool-files",
        &[
            "kitbag-tool-spec",
            "kitbag-domain",
            "kitbag-clients",
            "kitbag-schema",
        ],
    ),
    (
        "kitbag-web",
        &["kitbag-domain", "kitbag-fetch", "kitbag-testkit"],
    ),
    // A crate above the tool files, whose dated data lists the models.
    (
        "kitbag-llm",
        &["kitbag-tool-spec", "kitbag-domain", "kitbag-tool-files"],
    ),
    // A crate above the store and the web: its tools are thin wrappers. Its tests need a guard.
    (
        "kitbag-platform",
        &[
            "kitbag-tool-spec",
            "kitbag-domain",
            "kitbag-fetch",
            "kitbag-tool-files",
            "kitbag-store",
            "kitbag-web",
        ],
    ),
    (
        "kitbag-upstream",
        &["kitbag-domain", "kitbag-wire", "kitbag-fetch"],
    ),
    (
        "kitbag-config",
        &[
            "kitbag-tool-spec",
            "kitbag-domain",
            "kitbag-intents",
            "kitbag-lockfile",
            "kitbag-wire",
            "kitbag-policy",
            "kitbag-apis",
            "kitbag-upstream",
            "kitbag-clients",
            "kitbag-registry",
        ],
    ),
    (
        "kitbag-embedding",
        &[
            "kitbag-config",
            "kitbag-domain",
            "kitbag-encoder",
            "kitbag-fetch",
            "kitbag-relevance",
        ],
    ),
    (
        "kitbag-telemetry",
        &["kitbag-domain", "kitbag-wire", "kitbag-fetch"],
    ),
    (
        "kitbag-launch-review",
        &[
            "kitbag-config",
            "kitbag-clients",
            "kitbag-domain",
            "kitbag-upstream",
        ],
    ),
    (
        "kitbag-gateway",
        &[
            "kitbag-tool-spec",
            "kitbag-tool-files",
            "kitbag-llm",
            "kitbag-platform",
            "kitbag-embedding",
            "kitbag-config",
            "kitbag-domain",
            "kitbag-wire",
            "kitbag-fetch",
            "kitbag-policy",
            "kitbag-schema",
            "kitbag-store",
            "kitbag-apis",
            "kitbag-web",
            "kitbag-upstream",
            "kitbag-relevance",
            "kitbag-telemetry",
            "kitbag-budget",
            "kitbag-clients",
            "kitbag-sandbox",
            "kitbag-intents",
            "kitbag-lockfile",
            "kitbag-agents",
            "kitbag-tool-server",
        ],
    ),
    (
        "kitbag",
        &[
            "kitbag-gateway",
            "kitbag-apis",
            "kitbag-tool-spec",
            "kitbag-tool-files",
            "kitbag-llm",
            "kitbag-platform",
            "kitbag-launch-review",
            "kitbag-sandbox",
            "kitbag-intents",
            "kitbag-lockfile",
            "kitbag-embedding",
            "kitbag-config",
            "kitbag-domain",
            "kitbag-wire",
            "kitbag-policy",
            "kitbag-schema",
            "kitbag-store",
            "kitbag-upstream",
            "kitbag-relevance",
            "kitbag-budget",
            "kitbag-clients",
            "kitbag-registry",
            "kitbag-agents",
            "kitbag-tool-server",
            "kitbag-demo",
            "kitbag-eval",
            "kitbag-fetch",
            "kitbag-testkit",
        ],
    ),
    ("kitbag-testbed", &["kitbag-domain", "kitbag-wire"]),
    ("kitbag-testkit", &[]),
    ("xtask", &[]),
    (
        "kitbag-bench",
        &["xtask", "kitbag-store", "kitbag-sandbox", "kitbag-domain"],
    ),
    ("kitbag-bench-load", &[]),
];

#[test]
fn no_crate_depends_on_a_forbidden_crate() {
    let wrong = wrong_edges(&edges());
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

#[test]
fn every_crate_has_its_row_on_the_map() {
    let map = std::fs::read_to_string(crate::root().join("ARCHITECTURE.md")).unwrap();
    for (name, _) in edges() {
        let name = name.trim_start_matches("kitbag-");
        let folder = name.replace('-', "_");
        let is_row = |line: &str| {
            line.starts_with("| `")
                && [name, folder.as_str()]
                    .iter()
                    .any(|it| line.contains(&format!("`{it}`")))
        };
        assert!(
            map.lines().any(is_row),
            "`{name}` has no row under \"The crates\" in ARCHITECTURE.md"
        );
    }
}

#[test]
fn a_forbidden_dependency_is_reported() {
    let edge = |from: &str, to: &str| wrong_edges(&[(from.to_owned(), vec![to.to_owned()])]);
    assert_eq!(edge("kitbag-gateway", "kitbag-policy"), [""; 0]);
    let found = edge("kitbag-policy", "kitbag-store");
    assert!(
        found[0].contains("`kitbag-policy` must not depend on `kitbag-store`"),
        "{found:?}"
    );
    let found = edge("kitbag-attic", "kitbag-domain");
    assert!(
        found[0].contains("`kitbag-attic` is not in the table"),
        "{found:?}"
    );
}

fn wrong_edges(edges: &[(String, Vec<String>)]) -> Vec<String> {
    edges
        .iter()
        .flat_map(|(from, to)| wrong_edges_of(from, to))
        .collect()
}

fn wrong_edges_of(from: &str, to: &[String]) -> Vec<String> {
    let Some((_, may_know)) = MAY_KNOW.iter().find(|(name, _)| *name == from) else {
        return vec![format!(
            "`{from}` is not in the table of {}; {RULE}",
            file!()
        )];
    };
    to.iter()
        .filter(|to| !may_know.contains(&to.as_str()))
        .map(|to| format!("`{from}` must not depend on `{to}`; {RULE}"))
        .collect()
}

const RULE: &str =
    "allowed dependencies and their reasons are listed under \"The crates\" in ARCHITECTURE.md";

/// Each workspace package with its path dependencies, including those for tests and builds.
fn edges() -> Vec<(String, Vec<String>)> {
    let cargo = std::env::var_os("CARGO").expect("tests are started by cargo");
    let output = Command::new(cargo)
        .args(["metadata", "--format-version", "1", "--no-deps"])
        .current_dir(crate::root())
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let metadata: Value = serde_json::from_slice(&output.stdout).unwrap();
    metadata["packages"]
        .as_array()
        .unwrap()
        .iter()
        .map(|package| (name(package), dependencies_by_path(package)))
        .collect()
}

fn dependencies_by_path(package: &Value) -> Vec<String> {
    package["dependencies"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|dependency| dependency["path"].is_string())
        .map(name)
        .collect()
}

fn name(package: &Value) -> String {
    package["name"].as_str().unwrap().to_owned()
}
