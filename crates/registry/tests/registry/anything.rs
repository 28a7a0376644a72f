//! Whatever an entry of the registry contains, it never becomes an option of the program that runs
//! it, or a variable of the user.

use kitbag_registry::{FilledPlan, PlanAnswers, RegistryServer, choose, offered_kinds};
use proptest::prelude::*;
use serde_json::{Value, json};

proptest! {
    #[test]
    fn no_entry_adds_an_option_or_a_variable(entry in entry()) {
        let Ok(server) = serde_json::from_value::<RegistryServer>(entry.clone()) else { return Ok(()) };
        for kind in offered_kinds(&server) {
            let Ok(plan) = choose(&server, Some(kind), |_| true) else { continue };
            let Ok(filled) = plan.fill(&PlanAnswers::default(), |text| text.replace('$', "%")) else { continue };
            let (words, pairs) = match filled {
                FilledPlan::Launch { command, args, env } => ([vec![command], args].concat(), env),
                FilledPlan::Remote { url, headers, .. } => (vec![url], headers),
            };
            let values = pairs.iter().map(|(_, value)| value);
            for word in words.iter().chain(values) {
                prop_assert!(!word.contains("${"), "{} from {}", word, entry);
            }
            let is_option = |word: &String| word.starts_with('-') && word.contains(PACKAGE);
            prop_assert!(!words.iter().any(is_option), "{:?} from {}", words, entry);
        }
    }
}

fn entry() -> impl Strategy<Value = Value> {
    let packages = prop::collection::vec(package(), 0..3);
    let remotes = prop::collection::vec(remote(), 0..2);
    (packages, remotes).prop_map(|(packages, remotes)| {
        json!({ "name": "io.github.acme/weather", "version": "1.0.0", "packages": packages, "remotes": remotes })
    })
}

/// A part of every harmful package name.
const PACKAGE: &str = "evil";

fn identifier() -> impl Strategy<Value = String> {
    const HARMFUL: &[&str] = &[
        "-evil",
        "--evil=x",
        "${secret:evil}",
        "@acme/weather",
        "ghcr.io/acme/evil",
    ];
    prop_oneof![
        prop::sample::select(HARMFUL).prop_map(str::to_owned),
        ".{0,12}"
    ]
}

fn package() -> impl Strategy<Value = Value> {
    const KINDS: &[&str] = &["npm", "pypi", "nuget", "oci", "mcpb", "odd"];
    let arguments = || prop::collection::vec(argument(), 0..3);
    (
        prop::sample::select(KINDS),
        identifier(),
        text(),
        arguments(),
        arguments(),
        text(),
    )
        .prop_map(|(kind, identifier, version, runtime, own, hint)| {
            json!({
                "registryType": kind,
                "identifier": identifier,
                "version": version,
                "runtimeHint": hint,
                "transport": { "type": "stdio" },
                "runtimeArguments": runtime,
                "packageArguments": own,
                "environmentVariables": [{ "name": "TOKEN", "value": identifier }],
            })
        })
}

fn remote() -> impl Strategy<Value = Value> {
    (text(), text()).prop_map(|(host, value)| {
        let headers = json!([{ "name": "X-Key", "value": value }]);
        json!({ "type": "streamable-http", "url": format!("https://{host}/mcp"), "headers": headers })
    })
}

/// An entry may request options; they are shown to the user.
fn argument() -> impl Strategy<Value = Value> {
    let word = || "[a-z${}]{0,8}";
    prop_oneof![
        word().prop_map(|value| json!({ "type": "positional", "value": value })),
        (word(), text()).prop_map(
            |(name, value)| json!({ "type": "named", "name": format!("--{name}"), "value": value })
        ),
        text().prop_map(Value::from),
    ]
}

/// Words that would be harmful in some positions, and any others.
fn text() -> impl Strategy<Value = String> {
    const HARMFUL: &[&str] = &[
        "--privileged",
        "-c",
        "${secret:token}",
        "${HOME}",
        "@acme/weather",
        "a b",
        "$(x)",
        "",
        "{x}",
    ];
    prop_oneof![
        prop::sample::select(HARMFUL).prop_map(str::to_owned),
        ".{0,12}"
    ]
}
