//! What a shell completes, and what `man` shows.

use std::fs;
use std::io::Write as _;
use std::process::{Command, Stdio};

use crate::home::{CONFIG, Home};
use crate::testbed;

/// What bash would offer after these words, with the cursor at the end.
#[track_caller]
fn completed(home: &Home, line: &str) -> Vec<String> {
    let script = home.path("kitbag.bash");
    fs::write(&script, home.ok(&["completions", "bash"])).unwrap();
    let drive = format!(
        "source {}\nread -ra COMP_WORDS <<< '{line}.'\nCOMP_CWORD=$((${{#COMP_WORDS[@]}} - 1))\n\
         last=${{COMP_WORDS[COMP_CWORD]%.}}\nCOMP_WORDS[COMP_CWORD]=$last\n\
         $(complete -p kitbag | sed 's/.*-F \\([^ ]*\\) .*/\\1/') kitbag \"$last\"\n\
         printf '%s\\n' \"${{COMPREPLY[@]}}\"\n",
        script.display()
    );
    let mut bash = Command::new("bash");
    bash.args(["--norc", "-c", &drive])
        .current_dir(home.path(""))
        .env("HOME", home.path(""));
    let output = bash.output().expect("bash is installed");
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8_lossy(&output.stdout)
        .lines()
        .map(str::to_owned)
        .collect()
}

#[test]
fn bash_completes_verbs_flags_and_names() {
    let home = Home::new();
    home.ok(&[
        "servers",
        "add",
        "bed",
        "--",
        &testbed(),
        "--era",
        "legacy",
        "stdio",
    ]);
    home.ok(&["servers", "add", "beta", "--disabled", "--", "x"]);
    let check =
        |line: &str, expected: &[&str]| assert_eq!(completed(&home, line), expected, "{line}");
    check("kitbag serv", &["serve", "servers", "service"]);
    check("kitbag servers rem", &["remove"]);
    check("kitbag servers remove be", &["bed", "beta"]);
    check("kitbag servers test a", &["agents"]);
    check("kitbag servers remove a", &[""]);
    check("kitbag serve --sur", &["--surface"]);
    check("kitbag call bed__echo_", &["bed__echo_params"]);
    check(
        "kitbag install --client cl",
        &["claude-desktop", "claude-code", "cline"],
    );
    check("kitbag completions e", &["elvish"]);
}

#[test]
fn a_configuration_that_cannot_be_read_completes_no_names_and_says_nothing() {
    let home = Home::new();
    home.write(CONFIG, "[servers.git]\ncomand = 'x'\n");
    assert_eq!(completed(&home, "kitbag servers test g"), [""]);
    assert_eq!(completed(&home, "kitbag call g"), [""]);
}

#[test]
fn every_shell_gets_a_script_and_bash_accepts_its_own() {
    let home = Home::new();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = home.ok(&["completions", shell]);
        assert!(
            script.contains("kitbag") && script.contains("KITBAG_COMPLETE"),
            "{shell}: {script}"
        );
    }
    let mut bash = Command::new("bash")
        .arg("-n")
        .stdin(Stdio::piped())
        .spawn()
        .unwrap();
    bash.stdin
        .take()
        .unwrap()
        .write_all(home.ok(&["completions", "bash"]).as_bytes())
        .unwrap();
    assert!(bash.wait().unwrap().success());
    assert_eq!(home.run(&["completions", "csh"]).code, Some(2));
}

#[test]
fn the_manual_has_a_well_formed_page_for_every_verb() {
    let home = Home::new();
    let told = home.json(&["man", "--dir", "man/man1"]);
    let names: Vec<&str> = told["pages"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| it.as_str().unwrap())
        .collect();
    for name in [
        "kitbag.1",
        "kitbag-serve.1",
        "kitbag-servers-add.1",
        "kitbag-key-create.1",
        "kitbag-man.1",
    ] {
        assert!(names.contains(&name), "{name} is not in {names:?}");
    }
    for name in names {
        let page = fs::read_to_string(home.path("man/man1").join(name)).unwrap();
        check_page(name, &page);
    }
    let main = home.ok(&["man"]);
    assert_eq!(
        main,
        fs::read_to_string(home.path("man/man1/kitbag.1")).unwrap()
    );
    assert!(main.contains("kitbag\\-servers(1)"), "{main}");
}

/// The macros of a page are those that `man` knows, its sections are all there, and examples keep
/// their lines.
#[track_caller]
fn check_page(name: &str, page: &str) {
    let known = [
        "TH", "SH", "TP", "PP", "RS", "RE", "IP", "br", "nf", "fi", "ie", "el", "ds",
    ];
    for line in page.lines().filter_map(|line| line.strip_prefix('.')) {
        let word = line.split([' ', '\\']).next().unwrap_or_default();
        assert!(known.contains(&word), "{name}: .{line}");
    }
    let title = name.trim_end_matches(".1");
    let first = page
        .lines()
        .find(|line| line.starts_with(".TH"))
        .unwrap_or_default();
    assert!(
        first.starts_with(&format!(".TH {title} 1")),
        "{name}: {first}"
    );
    for section in ["NAME", "SYNOPSIS", "DESCRIPTION", "OPTIONS", "EXAMPLES"] {
        assert!(
            page.contains(&format!(".SH {section}\n")),
            "{name} has no {section}"
        );
    }
    let count = |macro_: &str| page.lines().filter(|line| *line == macro_).count();
    assert_eq!((count(".nf"), count(".fi")), (1, 1), "{name}");
}

#[test]
fn man_renders_a_page_where_it_is_installed() {
    let home = Home::new();
    home.ok(&["man", "--dir", "man1"]);
    let page = home.path("man1/kitbag-servers-add.1");
    // Minimal systems have no groff, and then there is nobody to render for.
    let Ok(output) = Command::new("groff")
        .args(["-man", "-Kutf8", "-Tutf8", "-ww", "-P-c"])
        .arg(&page)
        .output()
    else {
        return;
    };
    let text = String::from_utf8_lossy(&output.stdout);
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
    assert!(
        text.contains("  kitbag servers add time -- uvx mcp-server-time\n"),
        "{text}"
    );
}
