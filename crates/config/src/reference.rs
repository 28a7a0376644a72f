//! Compares `docs/configuration.md` with the code.

use serde::Deserialize;

use super::keys::keys_of;
use super::raw::{
    RawAgents, RawAudit, RawConfig, RawElsewhere, RawImport, RawIndex, RawOauth, RawProvider,
    RawRegistry, RawRules, RawSecrets, RawServe, RawServer, RawStore, RawSurfaces, RawTelemetry,
    RawTenants, RawTool,
};
use super::{Config, Overrides, Serve, Surroundings, parse};

const REFERENCE: &str = include_str!("../../../docs/configuration.md");

/// Checks that the table of a section explains every key, in the order of the code, and no other.
#[track_caller]
fn check<T: Deserialize<'static>>(heading: &str) {
    let (_, rest) = REFERENCE
        .split_once(heading)
        .expect("the reference has this section");
    let section = rest.split("\n## ").next().unwrap_or_default();
    let rows = section
        .lines()
        .filter_map(|line| line.strip_prefix("| `")?.split('`').next());
    assert_eq!(rows.collect::<Vec<_>>(), keys_of::<T>(), "{heading}");
}

#[test]
fn every_key_is_explained_and_none_that_is_not_there() {
    for section in keys_of::<RawConfig>() {
        assert!(
            REFERENCE.contains(&format!("\n## [{section}")),
            "there is no section for [{section}]"
        );
    }
    check::<RawServe>("\n## [serve]\n");
    check::<RawStore>("\n## [store]\n");
    check::<RawSecrets>("\n## [secrets]\n");
    check::<RawAudit>("\n## [audit]\n");
    check::<RawIndex>("\n## [index]\n");
    check::<RawElsewhere>("\n## [index.embedder]\n");
    check::<RawAgents>("\n## [agents]\n");
    check::<RawTool>("\n## [tools.\"NAME\"]\n");
    check::<RawSurfaces>("\n## [surfaces]\n");
    check::<RawTelemetry>("\n## [telemetry]\n");
    check::<RawRegistry>("\n## [registry]\n");
    check::<RawImport>("\n## [import]\n");
    check::<RawRules>("\n## [policy]\n");
    check::<RawTenants>("\n## [tenants]\n");
    check::<RawServer>("\n## [servers.NAME]\n");
    check::<RawOauth>("\n## [servers.NAME.oauth]\n");
    check::<RawProvider>("\n## [providers.NAME]\n");
}

#[test]
fn every_example_is_a_configuration() {
    for example in examples(REFERENCE) {
        read(example).unwrap_or_else(|error| panic!("{error}\n{example}"));
    }
}

#[test]
fn the_defaults_written_out_are_the_defaults() {
    let (_, written_out) = REFERENCE
        .split_once("## The defaults")
        .expect("the defaults are written out");
    let written_out = examples(written_out).next().expect("as an example");
    let config = read(written_out).unwrap();
    assert_eq!(config.serve, Serve::default());
    let bare = read("[servers.example]\ncommand = 'example'").unwrap();
    assert_eq!(config.servers, bare.servers);
    for key in keys_of::<RawServe>() {
        assert!(
            written_out.contains(&format!("\n{key} = ")),
            "`{key}` is left out"
        );
    }
}

/// Returns the texts between the fences of the `toml` blocks.
fn examples(text: &'static str) -> impl Iterator<Item = &'static str> {
    text.split("```toml\n")
        .skip(1)
        .filter_map(|rest| rest.split("```").next())
}

fn read(text: &str) -> Result<Config, super::ConfigError> {
    let around = Surroundings {
        cwd: "/here".into(),
        home: Some("/home/ann".into()),
        ..Default::default()
    };
    parse(text, None, &Overrides::default(), &around)
}
