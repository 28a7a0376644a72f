//! Shell completion and manual pages.

use std::fs;
use std::io::Write as _;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::terminal::Terminal;
use kitbag_testkit::home::{CONFIG, Home};
use kitbag_testkit::programs::testbed;

/// Returns bash's completions at the end of this line.
#[track_caller]
fn complete(home: &Home, line: &str) -> Vec<String> {
    let script = home.path("kitbag.bash");
    fs::write(&script, home.ok(&["completions", "bash"])).unwrap();
    let words = split_words(line);
    let last = words.last().unwrap();
    let own = if last.chars().all(is_break) { "" } else { last };
    let drive = format!(
        "source {}\nCOMP_LINE='{line}'\nCOMP_WORDS=({})\nCOMP_CWORD={}\n\
         $(complete -p kitbag | sed 's/.*-F \\([^ ]*\\) .*/\\1/') kitbag '{own}'\n\
         printf '%s\\n' \"${{COMPREPLY[@]}}\"\n",
        script.display(),
        words
            .iter()
            .map(|word| format!("'{word}'"))
            .collect::<Vec<_>>()
            .join(" "),
        words.len() - 1,
    );
    let mut bash = Command::new("bash");
    bash.args(["--norc", "-c", &drive])
        .current_dir(home.path(""))
        .env("HOME", home.path(""));
    let output = bash.output().expect("bash is installed");
    let complaints = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.success() && complaints.is_empty(),
        "{complaints}"
    );
    String::from_utf8_lossy(&output.stdout)
        .lines()
        .map(str::to_owned)
        .collect()
}

/// Splits the line like bash: at spaces, and around `=` and `:`.
fn split_words(line: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    for word in line.split(' ') {
        words.push(String::new());
        for c in word.chars() {
            let last = words.last_mut().unwrap();
            match last
                .chars()
                .last()
                .is_none_or(|before| is_break(before) == is_break(c))
            {
                true => last.push(c),
                false => words.push(c.to_string()),
            }
        }
    }
    words
}

fn is_break(c: char) -> bool {
    c == '=' || c == ':'
}

#[test]
fn bash_completes_verbs_flags_and_names() {
    let home = Home::new();
    home.add_testbed();
    home.ok(&["servers", "add", "beta", "--disabled", "--", "x"]);
    let check =
        |line: &str, expected: &[&str]| assert_eq!(complete(&home, line), expected, "{line}");
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
fn bash_completes_arguments_uris_prompts_keys_and_secrets_and_starts_nothing() {
    let home = Home::new();
    let starts = home.path("starts");
    let script = format!(
        "echo start >> {starts:?}; exec {} --era legacy stdio",
        testbed()
    );
    home.ok(&["servers", "add", "bed", "--", "sh", "-c", &script]);
    let key = home.json(&["key", "create", "--label", "build machine"])["id"]
        .as_str()
        .unwrap()
        .to_owned();
    let revoked = home.json(&["key", "create"])["id"]
        .as_str()
        .unwrap()
        .to_owned();
    home.ok(&["key", "revoke", &revoked]);
    fs::write(home.path("value"), "s3cret").unwrap();
    let value = fs::File::open(home.path("value")).unwrap();
    assert!(
        home.command(&["secret", "set", "github_token"])
            .stdin(value)
            .status()
            .unwrap()
            .success()
    );
    fs::write(&starts, "").unwrap();
    let check =
        |line: &str, expected: &[&str]| assert_eq!(complete(&home, line), expected, "{line}");
    check("kitbag call bed__big b", &["bytes="]);
    check("kitbag call bed__big bytes=3 s", &["shape="]);
    check(
        "kitbag call bed__big shape=",
        &[r"one\ line", "paragraphs", "array"],
    );
    check("kitbag call bed__big bytes=3 shape=pa", &["paragraphs"]);
    check("kitbag call --own bed__big shape=ar", &["array"]);
    check("kitbag call bed__nothing x", &[""]);
    check("kitbag tools show bed__bi", &["bed__big"]);
    check(
        "kitbag resources read test:",
        &[
            "//static-text",
            "//static-binary",
            "//watched-resource",
            r"//template/\{id\}/data",
        ],
    );
    check("kitbag resources read test://static-t", &["//static-text"]);
    check("kitbag resources --server be", &["bed"]);
    check(
        "kitbag prompts get bed__test_s",
        &["bed__test_simple_prompt"],
    );
    check(
        "kitbag prompts get bed__test_prompt_with_arguments arg1=x ar",
        &["arg2="],
    );
    check("kitbag tools --color=al", &["always"]);
    for verb in ["revoke", "rotate"] {
        check(&format!("kitbag key {verb} {}", &key[..2]), &[&key]);
        check(&format!("kitbag key {verb} {}", &revoked[..6]), &[""]);
    }
    for verb in ["set", "remove"] {
        check(&format!("kitbag secret {verb} git"), &["github_token"]);
    }
    assert_eq!(
        fs::read_to_string(&starts).unwrap(),
        "",
        "no server is started to complete a name"
    );
    home.write("else.toml", "[servers.other]\ncommand = 'x'\n");
    check("kitbag --config else.toml servers test o", &["other"]);
}

/// Completes like readline, including what it passes to the function and makes of the reply.
#[test]
fn pressing_tab_in_bash_completes_whole_arguments() {
    let home = Home::new();
    home.add_testbed();
    home.write("kitbag.bash", &home.ok(&["completions", "bash"]));
    let mut terminal = Terminal::open();
    let mut bash = Command::new("bash");
    bash.args(["--norc", "--noprofile", "-i"])
        .current_dir(home.path(""))
        .env("HOME", home.path(""));
    bash.env("TERM", "dumb")
        .env("PS1", "> ")
        .env("INPUTRC", "/dev/null");
    bash.stdin(terminal.stdio())
        .stdout(terminal.stdio())
        .stderr(terminal.stdio());
    let mut child = bash.spawn().expect("bash is installed");
    drop(bash);
    terminal.press("source kitbag.bash; kitbag() { printf '<%s>' \"$@\"; echo; }; echo rea''dy\n");
    terminal.wait_for("ready\r\n");
    for (typed, expected) in [
        (
            "kitbag call bed__bi\t by\t7 sh\tpara\t\n",
            "<call><bed__big><bytes=7><shape=paragraphs>\r\n",
        ),
        (
            "kitbag call bed__big shape=one\t\n",
            "<call><bed__big><shape=one line>\r\n",
        ),
        (
            "kitbag resources read test://static-t\t\n",
            "<resources><read><test://static-text>\r\n",
        ),
        ("kitbag tools --color=al\t\n", "<tools><--color=always>\r\n"),
    ] {
        terminal.press(typed);
        terminal.wait_for(expected);
    }
    terminal.press("exit\n");
    assert!(child.wait().unwrap().success());
}

#[test]
fn a_missing_or_locked_store_completes_nothing_at_once_and_is_unchanged() {
    let home = Home::new();
    home.write(CONFIG, "[servers.git]\ncommand = 'x'\n");
    let lines = [
        "kitbag call g",
        "kitbag key revoke a",
        "kitbag secret remove a",
        "kitbag resources read x",
    ];
    for line in lines {
        assert_eq!(complete(&home, line), [""], "{line}");
    }
    assert!(!home.path(".local").exists(), "nothing is made for a look");
    home.ok(&["key", "create"]);
    let folder = fs::File::open(home.path(".local/share/kitbag")).unwrap();
    folder.lock().unwrap();
    for line in lines {
        let asked = Instant::now();
        assert_eq!(complete(&home, line), [""], "{line}");
        assert!(
            asked.elapsed() < Duration::from_secs(25),
            "{:?}",
            asked.elapsed()
        );
    }
}

#[test]
fn an_unreadable_configuration_completes_no_names_and_prints_nothing() {
    let home = Home::new();
    home.write(CONFIG, "[servers.git]\ncomand = 'x'\n");
    assert_eq!(complete(&home, "kitbag servers test g"), [""]);
    assert_eq!(complete(&home, "kitbag call g"), [""]);
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
    let printed = home.json(&["man", "--dir", "man/man1"]);
    let names: Vec<&str> = printed["pages"]
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

/// Checks that a page only uses macros known to `man`, has all sections, and keeps the lines of
/// examples.
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
    // Minimal systems have no groff to render the page.
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
