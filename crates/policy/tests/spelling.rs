//! Rules about resources and paths apply to every spelling.

#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot be set up has failed"
)]

use std::collections::BTreeMap;

use kitbag_domain::{Caller, Capability, Decision, Kind};
use kitbag_policy::{Policy, RuleText, Rules, UnknownTenants};
use proptest::prelude::*;

fn policy(allow: &[&str], deny: &[&str]) -> Policy {
    let owned = |patterns: &[&str]| patterns.iter().map(ToString::to_string).collect();
    let text = RuleText {
        allow_tools: owned(allow),
        deny_tools: owned(deny),
        ..RuleText::default()
    };
    Policy::new(
        Rules::compile(&text).unwrap(),
        BTreeMap::new(),
        UnknownTenants::Deny,
    )
}

fn is_permitted(policy: &Policy, kind: Kind, item: &str) -> bool {
    let (server, name) = item.split_once('/').unwrap();
    let capability = Capability {
        server: server.parse().unwrap(),
        kind,
        name: name.to_owned(),
    };
    policy.decide(&Caller::local(), &capability) == Decision::Allow
}

#[track_caller]
fn check(allow: &[&str], deny: &[&str], kind: Kind, permitted: &[&str], denied: &[&str]) {
    let policy = policy(allow, deny);
    for item in permitted {
        assert!(
            is_permitted(&policy, kind, item),
            "{item} is denied under +{allow:?} -{deny:?}"
        );
    }
    for item in denied {
        assert!(
            !is_permitted(&policy, kind, item),
            "{item} passes +{allow:?} -{deny:?}"
        );
    }
}

#[test]
fn a_denied_resource_is_denied_in_every_spelling() {
    check(
        &[],
        &["hr/mem://secret/*", "hr/http://localhost:8080/admin"],
        Kind::Resource,
        &[
            "hr/mem://public/payroll",
            "hr/mem://public/secret/x",
            "hr/mem://secrets/x",
            "hr/http://localhost:8080/",
            "fin/mem://secret/payroll",
            "fin/mem://a/../b",
        ],
        &[
            "hr/mem://secret/payroll",
            "hr/MEM://secret/payroll",
            "hr/mem://SECRET/payroll",
            "hr/mem://public/../secret/payroll",
            "hr/mem://public/..%2fsecret%2fpayroll",
            "hr/mem://public/%252e%252e/secret",
            "hr/mem://%73ecret/payroll",
            "hr/mem:\\\\secret\\payroll",
            "hr/mem:///secret/payroll",
            "hr/mem:/secret/payroll",
            "hr/mem:secret/payroll",
            "hr/mem:////x@secret:1;y/payroll",
            "hr/mem://x@secret/payroll",
            "hr/mem://secret:1/payroll",
            "hr/mem://secret./payroll",
            "hr/mem://secret;x/payroll",
            "hr/mem://sec\tret/payroll",
            "hr/ mem://secret/payroll",
            "hr/mem://public/./x",
            "hr/HTTP://localhost:8080/%61dmin",
            "hr/http://localhost:8080/admin/?x#y",
        ],
    );
}

#[test]
fn a_pattern_may_have_any_spelling() {
    check(
        &[],
        &[
            "files/FILE:///home/my%20secrets/*",
            "*/*.ENV",
            "api/* /Admin*",
        ],
        Kind::Resource,
        &["files/file:///home/my%20notes"],
        &[
            "files/file:///home/my secrets/x",
            "files/file:///home/my%20secrets/x",
            "x/file:///a/.env",
        ],
    );
}

#[test]
fn a_path_of_an_api_is_denied_in_every_case() {
    check(
        &[],
        &["api/* /admin*", "api/DELETE *"],
        Kind::Tool,
        &["api/GET /items", "other/GET /admin"],
        &[
            "api/GET /admin",
            "api/GET /ADMIN/x",
            "api/POST /aDmin;x=1/y",
            "api/DELETE /items",
            "api/GET /x/../admin",
        ],
    );
}

#[test]
fn the_name_of_a_tool_has_one_spelling() {
    check(
        &[],
        &["git/Push*"],
        Kind::Tool,
        &["git/push", "git/a%2fb", "git/.."],
        &["git/Push_all"],
    );
    check(&["git/push"], &[], Kind::Tool, &["git/push"], &["git/Push"]);
}

#[test]
fn an_unusual_spelling_must_be_allowed_in_its_reading() {
    check(
        &["hr/mem://public/*", "hr/file:///my%20notes/a"],
        &[],
        Kind::Resource,
        &[
            "hr/mem://public/a",
            "hr/mem://public/A%20b",
            "hr/mem://public/Größe",
            "hr/file:///my%20notes/a",
        ],
        &[
            "hr/mem://public/../secret",
            "hr/mem://public/%2e%2e/secret",
            "hr/mem://public/..\\secret",
            "hr/MEM://public/a",
            "hr/mem://secret/a",
        ],
    );
}

#[test]
fn without_rules_about_a_server_all_names_are_permitted() {
    check(
        &[],
        &["hr/mem://secret/*"],
        Kind::Resource,
        &["fin/mem://a/../b", "fin/x/%2e%2e/y"],
        &[],
    );
    check(&[], &[], Kind::Resource, &["hr/mem://a/../b"], &[]);
}

/// One of many ways to write the same URI.
#[derive(Debug, Clone)]
enum Disguise {
    Case(usize),
    Encode { at: usize, times: usize },
    Slash(usize),
    Backslash,
    Detour,
    Here,
    Tab(usize),
    ZeroWidth(usize),
    Query,
    Parameter,
    User,
    Port,
    FullWidth(usize),
}

fn disguise() -> impl Strategy<Value = Disguise> {
    use Disguise::*;
    prop_oneof![
        any::<usize>().prop_map(Case),
        (any::<usize>(), 1..4usize).prop_map(|(at, times)| Encode { at, times }),
        any::<usize>().prop_map(Slash),
        Just(Backslash),
        Just(Detour),
        Just(Here),
        any::<usize>().prop_map(Tab),
        any::<usize>().prop_map(ZeroWidth),
        Just(Query),
        Just(Parameter),
        Just(User),
        Just(Port),
        any::<usize>().prop_map(FullWidth),
    ]
}

fn apply_disguise(uri: &str, how: &Disguise) -> String {
    let with = |at: &usize, change: &dyn Fn(char) -> String| {
        let at = at % uri.chars().count();
        let changed = uri.chars().enumerate();
        changed
            .map(|(index, c)| {
                if index == at {
                    change(c)
                } else {
                    c.to_string()
                }
            })
            .collect::<String>()
    };
    let (scheme, rest) = uri.split_once("://").unwrap_or(("", uri));
    let has_authority = uri.contains("://");
    match how {
        Disguise::Case(at) => with(at, &|c| c.to_uppercase().to_string()),
        Disguise::Encode { at, times } => with(at, &|c| {
            let plain: String = c
                .to_string()
                .bytes()
                .map(|byte| format!("%{byte:02X}"))
                .collect();
            (1..*times).fold(plain, |text, _| text.replace('%', "%25"))
        }),
        Disguise::Slash(at) => with(at, &|c| {
            if c == '/' {
                "//".to_owned()
            } else {
                c.to_string()
            }
        }),
        Disguise::Backslash => uri.replacen('/', "\\", 1),
        Disguise::Detour => uri.replacen("/pay", "/x/../pay", 1),
        Disguise::Here => uri.replacen("/pay", "/./pay", 1),
        Disguise::Tab(at) => with(at, &|c| format!("\t{c}")),
        Disguise::ZeroWidth(at) => with(at, &|c| format!("{c}\u{200b}")),
        Disguise::Query => format!("{uri}?x=1"),
        Disguise::Parameter => uri.replacen("/pay", ";a=b/pay", 1),
        // With more slashes in front, the rest is a path, without user and port.
        Disguise::User | Disguise::Port if rest.starts_with(['/', '\\']) => uri.to_owned(),
        Disguise::User if has_authority && !rest.contains('@') => format!("{scheme}://ann@{rest}"),
        Disguise::Port if has_authority => uri.replacen("secret/", "secret:8080/", 1),
        Disguise::User | Disguise::Port => uri.to_owned(),
        Disguise::FullWidth(at) => with(at, &|c| match c {
            'a'..='z' => char::from_u32(c as u32 - 'a' as u32 + 'ａ' as u32)
                .unwrap()
                .to_string(),
            c => c.to_string(),
        }),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(2_000) })]

    #[test]
    fn no_disguise_bypasses_a_deny_rule(
        how in proptest::collection::vec(disguise(), 0..6),
    ) {
        let policy = policy(&[], &["hr/mem://secret/payroll*"]);
        let spelt = how.iter().fold("mem://secret/payroll".to_owned(), |uri, how| apply_disguise(&uri, how));
        prop_assert!(!is_permitted(&policy, Kind::Resource, &format!("hr/{spelt}")), "{spelt:?}");
    }
}
