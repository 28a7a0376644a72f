//! Files as the clients write them: what is read from each, and that Kitbag goes in and out of
//! each without a trace.
//!
//! Every folder of `fixtures` is a case: a `home`, a `project`, and in `expected.json` what is
//! found there. With `UPDATE_FIXTURES=1` the latter is written anew, to be read before it is kept.

#![expect(clippy::unwrap_used, reason = "a test says so by failing")]

use std::fs;
use std::path::{Path, PathBuf};

use kitbag_clients::{
    Client, Door, EditError, Found, Places, Platform, Spot, Undone, find, install, read, uninstall,
};
use proptest::prelude::*;
use proptest::sample::Index;
use serde_json::Value;

#[test]
fn every_file_is_read_as_expected() {
    for case in cases() {
        let found = find(&places(&case), None);
        let text = serde_json::to_string_pretty(&found).unwrap();
        let text = text
            .replace(&format!("{}/", case.display()), "")
            .replace(case.to_str().unwrap(), "");
        let expected = case.join("expected.json");
        if std::env::var_os("UPDATE_FIXTURES").is_some() {
            fs::write(&expected, format!("{text}\n")).unwrap();
        }
        let expected: Value =
            serde_json::from_str(&fs::read_to_string(&expected).unwrap()).unwrap();
        assert_eq!(
            serde_json::from_str::<Value>(&text).unwrap(),
            expected,
            "{}",
            case.display()
        );
    }
}

#[test]
fn every_client_has_its_fixture() {
    let all: Vec<_> = cases()
        .iter()
        .flat_map(|case| find(&places(case), None))
        .collect();
    for client in Client::ALL {
        assert!(
            all.iter()
                .any(|found| found.client == client && !found.servers.is_empty()),
            "{client}"
        );
    }
}

#[test]
fn no_secret_shows_itself() {
    for case in cases() {
        let found = find(&places(&case), None);
        let shown = format!("{}{found:?}", serde_json::to_string(&found).unwrap());
        for secret in [
            "fixture0",
            "fixture-token",
            "fixture-key",
            "fixture-pw",
            "fixture-s3cret",
            "hunter2",
        ] {
            assert!(
                !shown.contains(secret),
                "{secret} in {}: {shown}",
                case.display()
            );
        }
    }
}

#[test]
fn kitbag_goes_into_every_file_and_out_again_without_a_trace() {
    for_each_file(|spot, text, servers| {
        for (door, behind) in wishes(servers) {
            let Some(installed) = installed(spot, text, &door, &behind) else {
                continue;
            };
            let undone = uninstall(spot, &installed, Some(text)).unwrap();
            assert_eq!(
                undone,
                Undone::Restored(text.to_owned()),
                "{}\n{installed}",
                spot.path.display()
            );
        }
    });
}

#[test]
fn what_is_not_ours_keeps_its_letters() {
    for_each_file(|spot, text, servers| {
        for (door, _) in wishes(servers) {
            let Some(installed) = installed(spot, text, &door, &[]) else {
                continue;
            };
            let mut rest = installed.as_str();
            // Something was put in between, once, or twice where a comma was missing.
            for (index, letter) in text.char_indices().rev() {
                let end = rest.rfind(letter).unwrap_or_else(|| {
                    panic!(
                        "`{}` of {} is gone:\n{installed}",
                        &text[index..],
                        spot.path.display()
                    )
                });
                rest = &rest[..end];
            }
        }
    });
}

#[test]
fn a_file_that_was_changed_meanwhile_loses_only_what_is_ours() {
    for_each_file(|spot, text, servers| {
        for (door, behind) in wishes(servers) {
            let Some(installed) = installed(spot, text, &door, &behind) else {
                continue;
            };
            let json = spot.path.to_string_lossy().contains(".json");
            let comment = if json { "// later\n" } else { "# later\n" };
            let changed = match installed.strip_prefix('\u{feff}') {
                Some(rest) => format!("\u{feff}{comment}{rest}"),
                None => format!("{comment}{installed}"),
            };
            let left = match uninstall(spot, &changed, Some(text)) {
                Ok(Undone::Removed(left)) => left,
                other => panic!("{}: {other:?}\n{changed}", spot.path.display()),
            };
            assert!(left.contains(comment), "{left}");
            let sorted = |text: &str| {
                let mut servers = servers_in(spot, text);
                servers.sort_by(|a, b| a.name.cmp(&b.name));
                serde_json::to_value(servers).unwrap()
            };
            assert_eq!(
                sorted(&left),
                sorted(text),
                "{}\n{left}",
                spot.path.display()
            );
        }
    });
}

#[test]
fn a_file_that_was_not_there_is_gone_again() {
    let places = places(&cases()[0]);
    for client in Client::ALL {
        for spot in client.spots(&places) {
            let installed = install(&spot, "", &stdio(), &[]).unwrap();
            assert!(
                read(&spot, &installed, &places)
                    .iter()
                    .any(|found| found.kitbag),
                "{installed}"
            );
            assert_eq!(
                uninstall(&spot, &installed, None).unwrap(),
                Undone::Nothing,
                "{installed}"
            );
            assert_eq!(uninstall(&spot, "", None).unwrap(), Undone::NotThere);
        }
    }
}

#[test]
fn an_entry_that_is_there_is_replaced() {
    for_each_file(|spot, text, _| {
        let Some(first) = installed(spot, text, &stdio(), &[]) else {
            return;
        };
        let newer = Door::Stdio {
            command: "/opt/kitbag".to_owned(),
            args: vec!["serve".to_owned()],
        };
        let second = install(spot, &first, &newer, &[]).unwrap();
        assert!(
            second.contains("/opt/kitbag") && !second.contains("/usr/local/bin/kitbag"),
            "{second}"
        );
        assert_eq!(
            servers_in(spot, &second),
            servers_in(spot, text),
            "{}\n{second}",
            spot.path.display()
        );
    });
}

#[test]
fn servers_behind_kitbag_are_off_for_the_client_but_still_in_its_file() {
    for_each_file(|spot, text, servers| {
        let Some(installed) = installed(spot, text, &stdio(), servers) else {
            return;
        };
        let on = servers_in(spot, &installed)
            .into_iter()
            .filter(|server| !server.disabled);
        let on: Vec<_> = on
            .map(|server| server.name)
            .filter(|name| servers.contains(name))
            .collect();
        assert_eq!(on, [""; 0], "{}\n{installed}", spot.path.display());
        for server in servers {
            assert!(
                installed.contains(server.as_str()),
                "{server} is gone:\n{installed}"
            );
        }
    });
}

/// Nothing moved and everything moved, over stdio and over HTTP.
fn wishes(servers: &[String]) -> [(Door, Vec<String>); 3] {
    let headers = vec![("Authorization".to_owned(), "Bearer kb_1".to_owned())];
    let http = Door::Http {
        url: "http://127.0.0.1:7420/mcp".to_owned(),
        headers,
    };
    [
        (stdio(), vec![]),
        (stdio(), servers.to_vec()),
        (http, vec![]),
    ]
}

fn stdio() -> Door {
    let args = ["serve", "--stdio"].map(str::to_owned).into();
    Door::Stdio {
        command: "/usr/local/bin/kitbag".to_owned(),
        args,
    }
}

/// Nothing where the file is broken or the client cannot be told so.
fn installed(spot: &Spot, text: &str, door: &Door, behind: &[String]) -> Option<String> {
    match install(spot, text, door, behind) {
        Ok(installed) => Some(installed),
        Err(EditError::Misspelt { .. } | EditError::NotATable { .. })
            if spot.path.to_string_lossy().contains("/broken/") =>
        {
            None
        }
        Err(EditError::NoAddress { .. }) if spot.client == Client::ClaudeDesktop => None,
        Err(error) => panic!("{}: {error}", spot.path.display()),
    }
}

/// Each file that a client would read, with its text and the names of the servers that count for
/// the place Kitbag goes to.
fn for_each_file(check: impl Fn(&Spot, &str, &[String])) {
    for case in cases() {
        for spot in Client::ALL
            .iter()
            .flat_map(|client| client.spots(&places(&case)))
        {
            let Ok(text) = fs::read_to_string(&spot.path) else {
                continue;
            };
            // One case has Kitbag from the start, to be recognised.
            if read(&spot, &text, &places(&case))
                .iter()
                .any(|found| found.kitbag)
            {
                continue;
            }
            let names: Vec<_> = servers_in(&spot, &text)
                .into_iter()
                .map(|server| server.name)
                .collect();
            check(&spot, &text, &names);
        }
    }
}

fn servers_in(spot: &Spot, text: &str) -> Vec<kitbag_clients::FoundServer> {
    let places = places(&cases()[0]);
    let local = |found: &Found| spot.path.ends_with(".claude.json") && found.project.is_some();
    let first = read(spot, text, &places)
        .into_iter()
        .find(|found| !local(found));
    first.map(|found: Found| found.servers).unwrap_or_default()
}

fn places(case: &Path) -> Places {
    Places {
        system: case.join("system"),
        ..Places::new(
            Platform::Linux,
            case.join("home"),
            case.join("project"),
            |_| None,
        )
    }
}

fn cases() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures");
    let mut cases: Vec<_> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    cases.sort();
    cases
}

proptest! {
    /// Whatever a slip of the hand makes of a file: it is read without a panic, and if Kitbag can
    /// be put in at all, it can be taken out without a trace.
    #[test]
    fn a_damaged_file_is_told_of_or_kept(which in any::<Index>(), at in any::<Index>(), slip in ".{0,2}") {
        let mut files = Vec::new();
        let places = places(&cases()[0]);
        for case in cases() {
            let spots = Client::ALL.iter().flat_map(|client| client.spots(&self::places(&case)));
            files.extend(spots.filter_map(|spot| Some((fs::read_to_string(&spot.path).ok()?, spot))));
        }
        let (text, spot) = which.get(&files);
        prop_assume!(!text.is_empty() && !text.contains("/kitbag\""));
        let begin = text.floor_char_boundary(at.index(text.len()));
        let end = text.ceil_char_boundary(begin + 1);
        let damaged = format!("{}{slip}{}", &text[..begin], &text[end..]);
        let servers: Vec<_> = servers_in(spot, &damaged).into_iter().map(|server| server.name).collect();
        read(spot, &damaged, &places);
        for behind in [&[], servers.as_slice()] {
            if let Ok(installed) = install(spot, &damaged, &stdio(), behind) {
                let undone = uninstall(spot, &installed, Some(&damaged)).unwrap();
                prop_assert_eq!(undone, Undone::Restored(damaged.clone()), "{}", installed);
            }
        }
    }
}
