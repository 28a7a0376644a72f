//! The bill of materials, compared with the lock file and with the binary itself.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::scene::{Scene, VERSION, binary, run};

#[test]
#[ignore = "needs cargo xtask setup"]
fn the_bill_lists_every_package_whose_code_is_in_the_binary() {
    let scene = Scene::make("sbom");
    let bill = fs::read_to_string(scene.package("kitbag-", ".cdx.json")).unwrap();
    let bill: Value = serde_json::from_str(&bill).unwrap();
    assert_eq!(bill["bomFormat"], "CycloneDX");
    assert_eq!(bill["specVersion"], "1.6");
    assert_eq!(bill["metadata"]["component"]["name"], "kitbag");
    assert_eq!(bill["metadata"]["component"]["version"], VERSION);
    let components: BTreeMap<&str, &Value> = bill["components"]
        .as_array()
        .unwrap()
        .iter()
        .map(|component| (text(component, "bom-ref"), component))
        .collect();

    let linked = packages_in_binary();
    assert!(linked.len() > 100, "{linked:?}");
    for package in &linked {
        assert!(components.contains_key(package.as_str()), "{package}");
    }
    for other in ["proptest", "kitbag-testkit", "serde_derive", "cc"] {
        let named = |it: &&Value| it["name"] == other;
        assert!(!components.values().any(named), "{other} is not linked");
    }
    check_components(&components);
    check_edges(&bill, &components);
}

#[track_caller]
fn check_components(components: &BTreeMap<&str, &Value>) {
    let lock = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../Cargo.lock");
    let lock = fs::read_to_string(lock).unwrap();
    for (reference, component) in components {
        let (name, version) = (text(component, "name"), text(component, "version"));
        let head = format!("[[package]]\nname = \"{name}\"\nversion = \"{version}\"\n");
        let locked = lock.split_once(&head).unwrap_or_else(|| panic!("{head}")).1;
        let locked = locked.split("\n\n").next().unwrap();
        assert!(!text(&component["licenses"][0], "expression").is_empty());
        if locked.contains("checksum = ") {
            let sum = text(&component["hashes"][0], "content");
            assert!(
                locked.contains(&format!("checksum = \"{sum}\"")),
                "{reference}"
            );
            assert_eq!(text(component, "purl"), format!("pkg:cargo/{reference}"));
        } else {
            assert_eq!(
                (component.get("purl"), component.get("hashes")),
                (None, None)
            );
        }
    }
}

/// Everything is reached from the program, over edges between components.
#[track_caller]
fn check_edges(bill: &Value, components: &BTreeMap<&str, &Value>) {
    let edges: BTreeMap<&str, &Vec<Value>> = bill["dependencies"]
        .as_array()
        .unwrap()
        .iter()
        .map(|edge| (text(edge, "ref"), edge["dependsOn"].as_array().unwrap()))
        .collect();
    let mut unreached = components.clone();
    let mut next = vec![text(&bill["metadata"]["component"], "bom-ref")];
    while let Some(from) = next.pop() {
        let reached = edges[from].iter().map(|it| it.as_str().unwrap());
        next.extend(reached.filter(|it| unreached.remove(it).is_some()));
    }
    assert!(unreached.is_empty(), "{unreached:?}");
}

/// Panics name the files of packages from a registry, as `registry/src/HOST/NAME-VERSION/src/lib.rs`.
fn packages_in_binary() -> Vec<String> {
    let pattern = "registry/src/[^/]*/[A-Za-z0-9_-]+-[0-9][A-Za-z0-9.+-]*/src/";
    let mut grep = Command::new("grep");
    let paths = run(grep
        .args(["-aoE", pattern])
        .arg(binary())
        .env("LC_ALL", "C"));
    let mut packages: Vec<String> = paths
        .lines()
        .filter_map(|path| path.split('/').nth(3))
        .filter_map(split_version)
        .collect();
    packages.sort();
    packages.dedup();
    packages
}

/// Turns `md-5-0.11.0` into `md-5@0.11.0`.
fn split_version(folder: &str) -> Option<String> {
    let (at, _) = folder.match_indices('-').find(|(at, _)| {
        let major = folder[at + 1..].split('.').next().unwrap_or_default();
        !major.is_empty() && major.bytes().all(|byte| byte.is_ascii_digit())
    })?;
    Some(format!("{}@{}", &folder[..at], &folder[at + 1..]))
}

#[track_caller]
fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value[key]
        .as_str()
        .unwrap_or_else(|| panic!("no {key} in {value}"))
}
