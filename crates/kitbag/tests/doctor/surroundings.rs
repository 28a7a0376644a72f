//! Checks other than servers: configuration, store, clients, address, versions.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt as _;
use std::process::Stdio;

use kitbag_testkit::home::{CONFIG, Home};
use kitbag_testkit::programs::{testbed, write_program};

use crate::{DoctorRun, write};

/// A home with an address of its own.
fn home(servers: &str) -> Home {
    let home = Home::new();
    write(
        &home.config(),
        &format!("[serve]\nbind = '127.0.0.1:0'\n{servers}"),
    );
    mode(&home, CONFIG, 0o600);
    home
}

fn mode(home: &Home, path: &str, mode: u32) {
    fs::set_permissions(home.path(path), fs::Permissions::from_mode(mode)).unwrap();
}

fn testbed_table() -> String {
    format!(
        "[servers.bed]\ncommand = '{}'\nargs = ['stdio']\n",
        testbed()
    )
}

#[test]
fn a_healthy_home_has_no_findings() {
    let home = home(&testbed_table());
    home.ok(&["install", "--client", "cursor"]);
    let doctor = DoctorRun::start(&home, &[]);
    assert_eq!(
        (doctor.code, &doctor.report["healthy"]),
        (Some(0), &true.into()),
        "{:#}",
        doctor.report
    );
    for (area, subject) in [
        ("configuration", CONFIG),
        ("store", "kitbag.db"),
        ("clients", "Cursor"),
        ("address", "127.0.0.1:0"),
        ("versions", "kitbag"),
    ] {
        doctor.only_finding(area, subject, "ok");
    }
    let [works, unannotated] = doctor.findings("servers", "bed")[..] else {
        panic!("{:#}", doctor.report);
    };
    assert_eq!(works["severity"], "ok");
    assert_eq!(unannotated["severity"], "note", "{unannotated:#}");
    let output = home.ok(&["doctor"]);
    assert!(
        output.lines().all(|line| line.chars().count() <= 100),
        "{output}"
    );
    for part in [
        "Configuration\n",
        "✓ ok       bed: offers",
        "\nNo problems found, 1 note.\n",
    ] {
        assert!(output.contains(part), "{part}: {output}");
    }
    assert_eq!(
        home.json(&["doctor", "--offline"])["summary"]["problems"],
        0
    );
}

#[test]
fn an_empty_home_has_no_problem() {
    let home = home("");
    let doctor = DoctorRun::start(&home, &[]);
    assert_eq!(doctor.code, Some(0), "{:#}", doctor.report);
    assert!(
        doctor.only_finding("servers", "none", "note")["try"]
            .as_str()
            .unwrap()
            .contains("kitbag import")
    );
    doctor.only_finding("clients", "none", "note");
}

#[test]
fn a_wrong_configuration_is_explained_and_the_clients_are_still_checked() {
    let home = home("[servers.git]\ncomand = 'x'\n");
    write(
        &home.path(".cursor/mcp.json"),
        r#"{"mcpServers": {"time": {"command": "uvx"}}}"#,
    );
    let doctor = DoctorRun::start(&home, &[]);
    let found = doctor.only_finding("configuration", "kitbag.toml", "problem");
    assert_eq!(found["try"], "did you mean `command`?");
    assert!(
        found["why"]
            .as_str()
            .unwrap()
            .contains("unknown key `comand`"),
        "{found}"
    );
    doctor.only_finding("clients", "Cursor", "note");
    assert_eq!(doctor.code, Some(1));
    let output = home.run(&["doctor"]).stdout;
    assert!(
        output.contains("✗ problem")
            && output.contains("try: did you mean")
            && output.contains("\n1 problem, 1 note."),
        "{output}"
    );
}

#[test]
fn a_provider_that_lacks_a_variable_is_named() {
    let home =
        home("[providers.weather]\nurl = 'https://weather.example'\nbearer = '${WEATHER_TOKEN}'\n");
    let doctor = DoctorRun::start(&home, &["--offline"]);
    let found = doctor.only_finding("configuration", "[providers.weather]", "problem");
    assert_eq!(found["try"], "set it: export WEATHER_TOKEN=…");
}

#[test]
fn a_configured_browser_that_does_not_exist_is_a_problem() {
    let home = home("[browser]\nprogram = '/nowhere/chromium'\n");
    let doctor = DoctorRun::start(&home, &["--offline"]);
    let found = doctor.only_finding("programs", "browser", "problem");
    let advice = found["try"].as_str().unwrap();
    assert!(advice.contains("`program` under [browser]"), "{found:#}");
}

#[test]
fn secrets_that_others_can_read_are_a_problem() {
    let home = home(
        "[servers.git]\nurl = 'http://127.0.0.1:1/mcp'\nheaders = { Authorization = 'Bearer s3cret-s3cret' }\n",
    );
    mode(&home, CONFIG, 0o644);
    home.ok(&["key", "create"]);
    mode(&home, ".local/share/kitbag/pepper", 0o640);
    mode(&home, ".local/share/kitbag", 0o755);
    let doctor = DoctorRun::start(&home, &["--offline"]);
    let found = &doctor.findings("configuration", CONFIG)[1];
    assert!(
        found["try"].as_str().unwrap().contains("chmod 600") && found["severity"] == "problem",
        "{found}"
    );
    assert!(
        doctor.only_finding("store", "pepper", "problem")["try"]
            .as_str()
            .unwrap()
            .contains("`chmod 600 ")
    );
    assert!(
        doctor.only_finding("store", "share/kitbag", "problem")["try"]
            .as_str()
            .unwrap()
            .contains("`chmod 700 ")
    );
    assert!(
        !doctor.report.to_string().contains("s3cret"),
        "{:#}",
        doctor.report
    );

    for (path, good) in [
        (CONFIG, 0o600),
        (".local/share/kitbag/pepper", 0o600),
        (".local/share/kitbag", 0o700),
    ] {
        mode(&home, path, good);
    }
    let doctor = DoctorRun::start(&home, &["--offline"]);
    assert_eq!(doctor.code, Some(0), "{:#}", doctor.report);
}

#[test]
fn an_invalid_store_is_reported_and_no_server_is_started() {
    let home = home(&testbed_table());
    write(
        &home.path(".local/share/kitbag/kitbag.db"),
        &"dear diary".repeat(1000),
    );
    mode(&home, ".local/share/kitbag", 0o700);
    mode(&home, ".local/share/kitbag/kitbag.db", 0o600);
    let doctor = DoctorRun::start(&home, &[]);
    assert!(
        doctor.only_finding("store", "kitbag.db", "problem")["try"]
            .as_str()
            .unwrap()
            .contains("`mv ")
    );
    doctor.only_finding("servers", "all", "note");
    assert_eq!(doctor.code, Some(1));
}

#[test]
fn clients_that_bypass_kitbag_are_named_with_the_command_that_changes_it() {
    let home = home("");
    let servers = r#"{"mcpServers": {"time": {"command": "uvx"}, "off": {"command": "x", "disabled": true}}}"#;
    write(&home.path(".codeium/windsurf/mcp_config.json"), servers);
    write(
        &home.path(".cursor/mcp.json"),
        r#"{"mcpServers": {"time": {"command": "uvx"}, "git": {"command": "x"}}}"#,
    );
    home.ok(&["install", "--client", "cursor"]);
    write(&home.path(".gemini/settings.json"), "{ broken");
    let settings = home.path(".config/Code/User/settings.json");
    write(
        &settings,
        r#"{"mcp": {"servers": {"time": {"command": "uvx"}}}}"#,
    );
    let doctor = DoctorRun::start(&home, &[]);
    // We do not edit this file; the user has to.
    let advice = format!(
        "run `kitbag import`, then remove them from {} by hand",
        settings.display()
    );
    assert_eq!(
        doctor.only_finding("clients", "VS Code", "note")["try"],
        advice
    );
    let found = doctor.only_finding("clients", "Windsurf", "note");
    assert_eq!(found["what"], "connects directly to 1 server: time");
    assert_eq!(
        found["try"],
        "run `kitbag install --client windsurf --move-servers`"
    );
    let found = doctor.only_finding("clients", "Cursor", "warning");
    assert_eq!(
        found["what"],
        "uses Kitbag but bypasses it for 2 servers: time, git"
    );
    assert_eq!(
        found["try"],
        "run `kitbag install --client cursor --move-servers`"
    );
    assert!(
        doctor.only_finding("clients", "Gemini CLI", "warning")["what"]
            .as_str()
            .unwrap()
            .contains("invalid syntax")
    );
    assert_eq!(doctor.code, Some(0), "{:#}", doctor.report);

    home.ok(&["install", "--client", "cursor", "--move-servers"]);
    let path = home.path(".cursor/mcp.json");
    assert_eq!(
        DoctorRun::start(&home, &["--offline"]).only_finding("clients", "Cursor", "ok")["what"],
        format!("uses Kitbag ({})", path.display())
    );
}

#[test]
fn a_client_that_does_not_find_kitbag_is_named() {
    let home = home("");
    let entry = |command: &str| {
        format!(r#"{{"mcpServers": {{"kitbag": {{"command": "{command}", "args": ["serve"]}}}}}}"#)
    };
    write(&home.path(".cursor/mcp.json"), &entry("/old/kitbag"));
    write(
        &home.path(".codeium/windsurf/mcp_config.json"),
        &entry("kitbag"),
    );
    write(&home.path(".mcp.json"), &entry("kitbag"));
    write(
        &home.path(".lmstudio/mcp.json"),
        r#"{"mcpServers": {"kitbag": {"url": "http://127.0.0.1:1/mcp"}}}"#,
    );
    let said = |doctor: &DoctorRun, client: &str| {
        let found = doctor
            .findings("clients", client)
            .into_iter()
            .find(|it| it["severity"] != "ok");
        let found = found.unwrap_or_else(|| panic!("{client}: {:#}", doctor.report));
        format!(
            "{}: {} => {}",
            found["severity"], found["what"], found["try"]
        )
        .replace('"', "")
    };
    let doctor = DoctorRun::start(&home, &[]);
    let expected =
        "problem: starts /old/kitbag, which does not exist => run `kitbag install --client cursor`";
    assert_eq!(said(&doctor, "Cursor"), expected);
    assert!(
        said(&doctor, "Windsurf").starts_with("problem: starts `kitbag`, which is not on the PATH")
    );
    assert!(said(&doctor, "Claude Code").contains("=> put it there, for example with `ln -s /"));
    let expected = "warning: connects to http://127.0.0.1:1/mcp, where nothing is listening => run `kitbag serve`";
    assert_eq!(said(&doctor, "LM Studio"), expected);

    write_program(&home.path("bin/kitbag"), "#!/bin/sh\n");
    assert!(
        said(&DoctorRun::start(&home, &[]), "Windsurf")
            .starts_with("warning: starts `kitbag` without its full path")
    );
}

#[test]
fn a_program_only_on_a_shells_path_is_reported_for_graphical_clients() {
    let home = home("[servers.tool]\ncommand = 'acme-tool'\n[servers.sh]\ncommand = 'sh'\n");
    write_program(&home.path("bin/acme-tool"), "#!/usr/bin/env acme-node\n");
    assert!(
        DoctorRun::start(&home, &["--offline"])
            .findings("clients", "Cursor")
            .is_empty()
    );
    home.ok(&["install", "--client", "cursor"]);
    let doctor = DoctorRun::start(&home, &["--offline"]);
    let found: Vec<_> = doctor
        .findings("clients", "Cursor")
        .into_iter()
        .filter(|it| it["severity"] == "warning")
        .collect();
    assert_eq!(found.len(), 1, "{found:?}");
    let advice = found[0]["try"].as_str().unwrap();
    assert!(
        advice.contains("/bin:${PATH}\" }` in [servers.tool]"),
        "{advice}"
    );
    write_program(&home.path("bin/acme-tool"), "#!/bin/sh\n");
    let doctor = DoctorRun::start(&home, &["--offline"]);
    assert!(
        doctor
            .report
            .to_string()
            .contains("bin/acme-tool\\\"` in [servers.tool]"),
        "{:#}",
        doctor.report
    );
}

#[test]
fn an_address_is_free_or_kitbags_or_another_programs() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let home = Home::new();
    write(&home.config(), &format!("[serve]\nbind = '{address}'\n"));
    let doctor = DoctorRun::start(&home, &[]);
    assert_eq!(
        doctor.only_finding("address", &address, "problem")["what"],
        "in use by another program"
    );
    drop(taken);
    let doctor = DoctorRun::start(&home, &[]);
    assert!(
        doctor.only_finding("address", &address, "ok")["what"]
            .as_str()
            .unwrap()
            .contains("is free")
    );

    let mut serving = home
        .command(&["serve"])
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut first = String::new();
    BufReader::new(serving.stdout.take().unwrap())
        .read_line(&mut first)
        .unwrap();
    let doctor = DoctorRun::start(&home, &[]);
    serving.kill().unwrap();
    serving.wait().unwrap();
    assert_eq!(
        doctor.only_finding("address", &address, "ok")["what"],
        "in use by Kitbag"
    );
}

#[test]
fn a_public_address_without_a_key_is_a_problem() {
    let home = Home::new();
    write(&home.config(), "[serve]\nbind = '0.0.0.0:0'\n");
    let doctor = DoctorRun::start(&home, &[]);
    let found = doctor.findings("address", "0.0.0.0:0");
    assert!(
        found[1]["try"].as_str().unwrap().contains("--require-key"),
        "{found:?}"
    );
    write(
        &home.config(),
        "[serve]\nbind = '0.0.0.0:0'\nrequire_key = true\n",
    );
    let doctor = DoctorRun::start(&home, &[]);
    assert!(
        doctor.findings("address", "0.0.0.0:0")[1]["try"]
            .as_str()
            .unwrap()
            .contains("kitbag key create")
    );
    home.ok(&["key", "create"]);
    assert_eq!(DoctorRun::start(&home, &[]).code, Some(0));
}

#[test]
fn an_old_node_is_reported_if_a_server_needs_it() {
    let home = home("[servers.a]\ncommand = 'npx'\nargs = ['-y', 'a']\n");
    write_program(&home.path("bin/node"), "#!/bin/sh\necho v20.11.1\n");
    write_program(&home.path("bin/npx"), "#!/bin/sh\n");
    let doctor = DoctorRun::start(&home, &["--offline"]);
    let found = doctor.only_finding("versions", "node", "warning");
    assert!(
        found["what"].as_str().unwrap().contains("v20.11.1")
            && found["try"].as_str().unwrap().contains("22")
    );
    write_program(&home.path("bin/node"), "#!/bin/sh\necho v24.1.0\n");
    DoctorRun::start(&home, &["--offline"]).only_finding("versions", "node", "ok");
}
