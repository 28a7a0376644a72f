//! `kitbag install --hook` and `uninstall` in clients that have prompt hooks.

use std::fs;

use kitbag_testkit::home::Home;
use serde_json::Value;

const BEFORE: &str = "{\n  // Mine.\n  \"model\": \"m\",\n  \"hooks\": { \"Stop\": [] }\n}\n";

#[track_caller]
fn text(home: &Home, path: &str) -> String {
    fs::read_to_string(home.path(path)).expect("the file is there")
}

/// The hook commands in a file that may contain comments.
fn commands(text: &str) -> Vec<&str> {
    let parts = text.split("\"command\": \"").skip(1);
    parts.filter_map(|part| part.split('"').next()).collect()
}

#[test]
fn a_hook_is_added_to_the_clients_file_and_removed_without_a_trace() {
    for (client, path) in [
        ("claude-code", ".claude/settings.json"),
        ("codex", ".codex/hooks.json"),
        ("gemini", ".gemini/settings.json"),
        ("cursor", ".cursor/hooks.json"),
    ] {
        let home = Home::new();
        home.write(path, BEFORE);
        let install = ["install", "--client", client];
        let with_hook = [&install[..], &["--hook"]].concat();

        let output = home.ok(&install);
        assert!(output.contains(&with_hook.join(" ")), "{output}");
        assert_eq!(home.json(&with_hook)["changed"], true, "{client}");
        let hooked = text(&home, path);
        let ours = format!("/kitbag hook {client} --config ");
        let count = commands(&hooked)
            .into_iter()
            .filter(|it| it.contains(&ours))
            .count();
        assert_eq!(count, 1, "{hooked}");
        // An installation without the flag keeps an existing hook.
        for again in [&with_hook[..], &install[..]] {
            assert_eq!(home.json(again)["changed"], false, "{client}");
            assert_eq!(text(&home, path), hooked);
        }
        assert!(
            home.run(&["doctor"]).stdout.contains("sends each prompt"),
            "{client}"
        );

        let undone = home.json(&["uninstall", "--client", client]);
        assert_eq!(undone["hook"], "restored", "{undone}");
        assert_eq!(text(&home, path), BEFORE, "{client}");
        let left = fs::read_dir(home.path(path).parent().unwrap()).unwrap();
        assert_eq!(left.count(), 1, "{client} has no copies beside its file");
    }
}

#[test]
fn a_hook_is_removed_from_a_changed_file_and_from_one_with_nothing_else() {
    let home = Home::new();
    let (path, client) = (".gemini/settings.json", ["--client", "gemini"]);
    let install = [&["install"], &client[..], &["--hook"]].concat();
    home.ok(&install);
    let mut file: Value = serde_json::from_str(&text(&home, path)).unwrap();
    file["theme"] = "dark".into();
    home.write(path, &file.to_string());
    let undone = home.json(&[&["uninstall"], &client[..]].concat());
    assert_eq!(
        (&undone["state"], &undone["hook"]),
        (&"edited".into(), &"edited".into())
    );
    assert!(text(&home, path).contains("dark") && !text(&home, path).contains("hook"));

    fs::remove_dir_all(home.path(".gemini")).unwrap();
    home.ok(&install);
    home.ok(&[&["uninstall"], &client[..]].concat());
    assert!(!home.path(path).exists());

    let refused = home.fails(&["install", "--client", "zed", "--hook"]);
    assert!(
        refused.contains("Zed has no known prompt hook"),
        "{refused}"
    );
}
