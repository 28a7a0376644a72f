//! Files as the clients write them: tests of reading each, and of adding and removing Kitbag
//! without a trace.
//!
//! Every folder of `fixtures` is a case: a `home`, a `project`, and in `expected.json` the expected
//! result. `UPDATE_FIXTURES=1` rewrites the expected results, to be reviewed before they are
//! committed.

#![expect(clippy::unwrap_used, reason = "a test says so by failing")]

use std::fs;
use std::path::{Path, PathBuf};

use kitbag_clients::{
    Client, ClientConfig, ClientDirectories, ClientFile, FileEditError, KitbagEntry,
    OperatingSystem, Uninstalled, find, install, read, uninstall,
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
    for_each_file(|file, text, servers| {
        for (entry, behind) in wishes(servers) {
            let Some(installed) = installed(file, text, &entry, &behind) else {
                continue;
            };
            let undone = uninstall(file, &installed, Some(text)).unwrap();
            assert_eq!(
                undone,
                Uninstalled::Restored(text.to_owned()),
                "{}\n{installed}",
                file.path.display()
            );
        }
    });
}

#[test]
fn every_entry_of_another_server_keeps_its_letters() {
    for_each_file(|file, text, servers| {
        for (entry, _) in wishes(servers) {
            let Some(installed) = installed(file, text, &entry, &[]) else {
                continue;
            };
            let mut rest = installed.as_str();
            // A text was inserted once, or twice where a comma was missing.
            for (index, letter) in text.char_indices().rev() {
                let end = rest.rfind(letter).unwrap_or_else(|| {
                    panic!(
                        "`{}` of {} is gone:\n{installed}",
                        &text[index..],
                        file.path.display()
                    )
                });
                rest = &rest[..end];
            }
        }
    });
}

#[test]
fn a_file_changed_since_the_installation_loses_only_kitbags_entries() {
    for_each_file(|file, text, servers| {
        for (entry, behind) in wishes(servers) {
            let Some(installed) = installed(file, text, &entry, &behind) else {
                continue;
            };
            let json = file.path.to_string_lossy().contains(".json");
            let comment = if json { "// later\n" } else { "# later\n" };
            let changed = match installed.strip_prefix('\u{feff}') {
                Some(rest) => format!("\u{feff}{comment}{rest}"),
                None => format!("{comment}{installed}"),
            };
            let left = match uninstall(file, &changed, Some(text)) {
                Ok(Uninstalled::Removed(left)) => left,
                other => panic!("{}: {other:?}\n{changed}", file.path.display()),
            };
            assert!(left.contains(comment), "{left}");
            let sorted = |text: &str| {
                let mut servers = servers_in(file, text);
                servers.sort_by(|a, b| a.name.cmp(&b.name));
                serde_json::to_value(servers).unwrap()
            };
            assert_eq!(
                sorted(&left),
                sorted(text),
                "{}\n{left}",
                file.path.display()
            );
        }
    });
}

#[test]
fn a_file_that_was_not_there_is_gone_again() {
    let places = places(&cases()[0]);
    for client in Client::ALL {
        for file in client.files(&places) {
            let installed = install(&file, "", &stdio(), &[]).unwrap();
            assert!(
                read(&file, &installed, &places)
                    .iter()
                    .any(|found| found.kitbag.is_some()),
                "{installed}"
            );
            assert_eq!(
                uninstall(&file, &installed, None).unwrap(),
                Uninstalled::Empty,
                "{installed}"
            );
            assert_eq!(
                uninstall(&file, "", None).unwrap(),
                Uninstalled::NotInstalled
            );
        }
    }
}

#[test]
fn an_entry_that_is_there_is_replaced() {
    for_each_file(|file, text, _| {
        let Some(first) = installed(file, text, &stdio(), &[]) else {
            return;
        };
        let newer = KitbagEntry::Stdio {
            command: "/opt/kitbag".to_owned(),
            args: vec!["serve".to_owned()],
        };
        let second = install(file, &first, &newer, &[]).unwrap();
        assert!(
            second.contains("/opt/kitbag") && !second.contains("/usr/local/bin/kitbag"),
            "{second}"
        );
        assert_eq!(
            servers_in(file, &second),
            servers_in(file, text),
            "{}\n{second}",
            file.path.display()
        );
    });
}

#[test]
fn servers_behind_kitbag_are_off_for_the_client_but_still_in_its_file() {
    for_each_file(|file, text, servers| {
        let Some(installed) = installed(file, text, &stdio(), servers) else {
            return;
        };
        let on = servers_in(file, &installed)
            .into_iter()
            .filter(|server| !server.disabled);
        let on: Vec<_> = on
            .map(|server| server.name)
            .filter(|name| servers.contains(name))
            .collect();
        assert_eq!(on, [""; 0], "{}\n{installed}", file.path.display());
        for server in servers {
            assert!(
                installed.contains(server.as_str()),
                "{server} is gone:\n{installed}"
            );
        }
    });
}

/// Nothing moved and everything moved, over stdio and over HTTP.
fn wishes(servers: &[String]) -> [(KitbagEntry, Vec<String>); 3] {
    let headers = vec![("Authorization".to_owned(), "Bearer kb_1".to_owned())];
    let http = KitbagEntry::Http {
        url: "http://127.0.0.1:7420/mcp".to_owned(),
        headers,
    };
    [
        (stdio(), vec![]),
        (stdio(), servers.to_vec()),
        (http, vec![]),
    ]
}

fn stdio() -> KitbagEntry {
    let args = ["serve", "--stdio"].map(str::to_owned).into();
    KitbagEntry::Stdio {
        command: "/usr/local/bin/kitbag".to_owned(),
        args,
    }
}

/// Returns nothing if the file is broken or the client has no such entry.
fn installed(
    file: &ClientFile,
    text: &str,
    entry: &KitbagEntry,
    behind: &[String],
) -> Option<String> {
    match install(file, text, entry, behind) {
        Ok(installed) => Some(installed),
        Err(FileEditError::Syntax { .. } | FileEditError::NotATable { .. })
            if file.path.to_string_lossy().contains("/broken/") =>
        {
            None
        }
        Err(FileEditError::NoAddress { .. }) if file.client == Client::ClaudeDesktop => None,
        Err(error) => panic!("{}: {error}", file.path.display()),
    }
}

/// Calls `check` with each file that a client would read, its text, and the names of the servers in
/// the scope that Kitbag goes into.
fn for_each_file(check: impl Fn(&ClientFile, &str, &[String])) {
    for case in cases() {
        for file in Client::ALL
            .iter()
            .flat_map(|client| client.files(&places(&case)))
        {
            let Ok(text) = fs::read_to_string(&file.path) else {
                continue;
            };
            // One case has Kitbag from the start, to be recognized.
            if read(&file, &text, &places(&case))
                .iter()
                .any(|found| found.kitbag.is_some())
            {
                continue;
            }
            let names: Vec<_> = servers_in(&file, &text)
                .into_iter()
                .map(|server| server.name)
                .collect();
            check(&file, &text, &names);
        }
    }
}

fn servers_in(file: &ClientFile, text: &str) -> Vec<kitbag_clients::FoundServer> {
    let places = places(&cases()[0]);
    let local =
        |found: &ClientConfig| file.path.ends_with(".claude.json") && found.project.is_some();
    let first = read(file, text, &places)
        .into_iter()
        .find(|found| !local(found));
    first
        .map(|found: ClientConfig| found.servers)
        .unwrap_or_default()
}

fn places(case: &Path) -> ClientDirectories {
    ClientDirectories {
        system: case.join("system"),
        ..ClientDirectories::new(
            OperatingSystem::Linux,
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
    /// Whatever a typing error makes of a file: it is read without a panic, and if Kitbag can be
    /// added at all, it can be removed without a trace.
    #[test]
    fn a_damaged_file_is_reported_or_kept(which in any::<Index>(), at in any::<Index>(), slip in ".{0,2}") {
        let mut texts = Vec::new();
        let places = places(&cases()[0]);
        for case in cases() {
            let files = Client::ALL.iter().flat_map(|client| client.files(&self::places(&case)));
            texts.extend(files.filter_map(|file| Some((fs::read_to_string(&file.path).ok()?, file))));
        }
        let (text, file) = which.get(&texts);
        prop_assume!(!text.is_empty() && !text.contains("/kitbag\""));
        let begin = text.floor_char_boundary(at.index(text.len()));
        let end = text.ceil_char_boundary(begin + 1);
        let damaged = format!("{}{slip}{}", &text[..begin], &text[end..]);
        let servers: Vec<_> = servers_in(file, &damaged).into_iter().map(|server| server.name).collect();
        read(file, &damaged, &places);
        for behind in [&[], servers.as_slice()] {
            if let Ok(installed) = install(file, &damaged, &stdio(), behind) {
                let undone = uninstall(file, &installed, Some(&damaged)).unwrap();
                prop_assert_eq!(undone, Uninstalled::Restored(damaged.clone()), "{}", installed);
            }
        }
    }
}
