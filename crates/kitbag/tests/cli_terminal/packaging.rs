//! The files for running Kitbag as a service, checked against the command line.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use clap::{CommandFactory as _, Parser as _};
use kitbag::cli::Cli;

use kitbag_testkit::home::Home;
use kitbag_testkit::programs::kitbag;

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../..")
        .canonicalize()
        .unwrap()
}

fn read(path: &str) -> String {
    fs::read_to_string(repository().join(path)).unwrap()
}

const UNIT: &str = "packaging/systemd/kitbag.service";
const DOCKERFILE: &str = "packaging/Dockerfile";

#[track_caller]
fn check_command(words: &[&str]) {
    let parsed = Cli::try_parse_from(words);
    assert!(parsed.is_ok(), "{words:?}: {}", parsed.unwrap_err());
}

#[test]
fn the_unit_starts_a_valid_command_and_contains_no_secret() {
    let unit = read(UNIT);
    let mut section = "";
    for line in unit
        .lines()
        .filter(|line| !line.is_empty() && !line.starts_with('#'))
    {
        match line
            .strip_prefix('[')
            .and_then(|line| line.strip_suffix(']'))
        {
            Some(name) => section = name,
            None => assert!(line.contains('='), "[{section}] {line}"),
        }
        assert!(
            ["Unit", "Service", "Install"].contains(&section),
            "{section}"
        );
    }
    let setting = |key: &str| {
        let line = unit
            .lines()
            .find_map(|line| line.strip_prefix(&format!("{key}=")));
        line.unwrap_or_else(|| panic!("the unit says nothing about {key}"))
    };
    let command: Vec<&str> = setting("ExecStart").split(' ').collect();
    assert_eq!(command[0], "/usr/local/bin/kitbag");
    check_command(&command);
    for key in [
        "DynamicUser",
        "NoNewPrivileges",
        "ProtectHome",
        "PrivateTmp",
        "PrivateDevices",
    ] {
        assert_eq!(setting(key), "yes", "{key}");
    }
    assert_eq!(
        (setting("ProtectSystem"), setting("CapabilityBoundingSet")),
        ("strict", "")
    );
    // systemd passes the service's folders in these variables.
    for (variable, key) in [
        ("CONFIGURATION_DIRECTORY", "ConfigurationDirectory"),
        ("STATE_DIRECTORY", "StateDirectory"),
    ] {
        assert!(
            setting("ExecStart").contains(&format!("${{{variable}}}")),
            "{variable}"
        );
        assert_eq!(setting(key), "kitbag");
    }
}

#[test]
fn systemd_accepts_the_unit_and_finds_it_safe() {
    // Without systemd there is nothing to check.
    if Command::new("systemd-analyze")
        .arg("--version")
        .output()
        .is_err()
    {
        return;
    }
    let home = Home::new();
    let unit = read(UNIT).replace("/usr/local/bin/kitbag", kitbag().to_str().unwrap());
    let path = home.path("kitbag.service");
    fs::write(&path, unit).unwrap();
    let analyze = |arguments: &[&str]| {
        let output = Command::new("systemd-analyze")
            .args(arguments)
            .arg(&path)
            .output()
            .unwrap();
        let printed = [output.stdout, output.stderr].concat();
        (
            output.status.success(),
            String::from_utf8_lossy(&printed).into_owned(),
        )
    };
    let (accepted, printed) = analyze(&["verify", "--man=no"]);
    assert!(
        accepted && !printed.contains("kitbag.service:"),
        "{printed}"
    );
    // In tenths of systemd's exposure level; up to 2.0 is its best grade.
    let (safe, printed) = analyze(&["security", "--offline=yes", "--threshold=20", "--no-pager"]);
    assert!(safe, "{printed}");
}

#[test]
fn the_image_runs_a_valid_command_as_an_ordinary_user() {
    let instructions = instructions(&read(DOCKERFILE));
    let all = |name: &str| -> Vec<&str> {
        instructions
            .iter()
            .filter(|(it, _)| it == name)
            .map(|(_, rest)| rest.as_str())
            .collect()
    };
    for base in all("FROM") {
        let image = base.split(' ').next().unwrap_or_default();
        let tag = image
            .split_once(':')
            .unwrap_or_else(|| panic!("{image} has no tag"))
            .1;
        assert!(
            tag.starts_with(|c: char| c.is_ascii_digit()),
            "{image} changes under our feet"
        );
    }
    for copy in all("COPY")
        .iter()
        .filter(|copy| !copy.starts_with("--from="))
    {
        let sources = copy.split(' ').rev().skip(1);
        sources.for_each(|source| assert!(repository().join(source).exists(), "{source}"));
    }
    let user: u32 = all("USER").last().unwrap().parse().unwrap();
    assert!(user > 1_000, "{user} is no ordinary user");
    assert_eq!(all("EXPOSE"), ["7420"]);

    let json = |text: &str| -> Vec<String> { serde_json::from_str(text).unwrap() };
    let entry = [all("ENTRYPOINT"), all("CMD")]
        .concat()
        .into_iter()
        .flat_map(json);
    let entry: Vec<String> = entry.collect();
    check_command(&entry.iter().map(String::as_str).collect::<Vec<_>>());
    let health = all("HEALTHCHECK")[0].split_once("CMD ").unwrap().1;
    check_command(&json(health).iter().map(String::as_str).collect::<Vec<_>>());
}

#[test]
fn commands_of_the_deployment_guide_can_be_typed() {
    let guide = read("docs/deploy.md");
    let kitbag = Cli::command();
    let is_verb = |word: &&str| kitbag.find_subcommand(word).is_some();
    let mut commands = 0;
    for text in guide
        .split("kitbag ")
        .skip(1)
        .filter_map(|text| text.split(['`', '\n']).next())
    {
        let words: Vec<&str> = text.split(' ').collect();
        if words.first().is_some_and(is_verb) {
            check_command(&[&["kitbag"], words.as_slice()].concat());
            commands += 1;
        }
    }
    assert!(commands > 2, "the guide shows too little");
}

#[test]
fn health_reports_a_running_gateway_and_explains_a_missing_one() {
    let home = Home::new();
    home.ok(&["key", "create"]);
    let mut serve = home.command(&["serve", "--bind", "0.0.0.0:0", "--require-key"]);
    let mut serving = serve
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(serving.stdout.take().unwrap())
        .lines()
        .map(Result::unwrap);
    let welcome = lines.next().unwrap();
    let endpoint = welcome
        .strip_prefix("Kitbag serves http://")
        .and_then(|it| it.strip_suffix("/mcp"));
    let bind = endpoint.unwrap_or_else(|| panic!("{welcome}"));
    let printed = home.ok(&["health", "--bind", bind]);
    serving.kill().unwrap();
    serving.wait().unwrap();
    assert_eq!(
        printed,
        format!(
            "http://{}/health answers\n",
            bind.replace("0.0.0.0", "127.0.0.1")
        )
    );
    let printed = home.fails(&["health", "--bind", bind]);
    assert!(
        printed.contains("no gateway answers at")
            && printed.contains("try: start one: kitbag serve"),
        "{printed}"
    );
}

/// Name and arguments of each instruction, with continued lines joined.
fn instructions(dockerfile: &str) -> Vec<(String, String)> {
    let lines = dockerfile.lines().filter(|line| !line.starts_with('#'));
    let joined = lines.collect::<Vec<_>>().join("\n").replace("\\\n", " ");
    let split = |line: &str| {
        line.split_once(' ')
            .map(|(name, rest)| (name.to_owned(), rest.to_owned()))
    };
    joined.lines().filter_map(split).collect()
}
