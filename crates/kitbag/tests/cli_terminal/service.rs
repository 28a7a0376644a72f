//! `kitbag service`: one gateway kept running by systemd, and no half-finished installation without it.
//!
//! The test user has no systemd. A script replaces it: it starts and stops the command of the unit like
//! systemd would.

use std::fs;
use std::process::Command;
use std::time::{Duration, Instant};

use clap::Parser as _;
use kitbag::cli::Cli;
use serde_json::Value;

use kitbag_testkit::home::{CommandOutcome, Home};
use kitbag_testkit::programs::{kitbag, write_program};

const SYSTEMCTL: &str = r#"#!/bin/sh
echo "$*" >> "$HOME/calls"
unit="$HOME/.config/systemd/user/kitbag.service"
case "$2" in
  show-environment) echo "HOME=$HOME" ;;
  start | restart)
    [ -f "$HOME/broken" ] && { echo "Job for kitbag.service failed." >&2; exit 1; }
    eval "$(sed -n 's/^ExecStart=//p' "$unit") > $HOME/out 2>&1 &"
    echo $! > "$HOME/pid" ;;
  disable) kill "$(cat "$HOME/pid")" ;;
  is-active) [ -f "$HOME/pid" ] && echo active || { echo inactive; exit 3; } ;;
esac
"#;

/// A home with a configuration and a fake systemd.
struct ServiceHome(Home);

impl ServiceHome {
    fn new() -> Self {
        let home = Home::new();
        fs::create_dir_all(home.config().parent().unwrap()).unwrap();
        let config = "[serve]\nbind = \"127.0.0.1:0\"\n[agents]\nenabled = false\n\
                      [servers.a]\ncommand = \"a\"\nenabled = false\nenv = { KEY = \"${SOME_KEY}\" }\n";
        fs::write(home.config(), config).unwrap();
        write_program(&home.path("bin/systemctl"), SYSTEMCTL);
        Self(home)
    }

    fn run(&self, words: &[&str]) -> CommandOutcome {
        let path = format!("{}:/usr/bin:/bin", self.0.path("bin").display());
        let output = self.0.command(words).env("PATH", path).output();
        CommandOutcome::from_output(&output.unwrap())
    }

    fn unit(&self) -> Option<String> {
        fs::read_to_string(self.0.path(".config/systemd/user/kitbag.service")).ok()
    }

    fn state(&self) -> Value {
        serde_json::from_str(&self.run(&["service", "status", "--json"]).stdout).unwrap()
    }
}

impl Drop for ServiceHome {
    /// Stops whatever a failed test left running.
    fn drop(&mut self) {
        if let Ok(pid) = fs::read_to_string(self.0.path("pid")) {
            let _gone = Command::new("kill").arg(pid.trim()).output();
        }
    }
}

#[test]
fn a_service_is_installed_joined_and_removed_without_a_trace() {
    let setup = ServiceHome::new();
    let printed = setup.run(&["service", "install"]);
    assert_eq!(printed.code, Some(0), "{}", printed.stderr);
    assert!(
        printed
            .stdout
            .contains("A gateway is running and will start at every login (pid "),
        "{}",
        printed.stdout
    );
    let state = setup.state();
    assert_eq!(
        (&state["active"], &state["refused"]),
        (&"active".into(), &Value::Null),
        "{state}"
    );
    assert!(
        state["gateway"]["address"]
            .as_str()
            .unwrap()
            .starts_with("127.0.0.1:"),
        "{state}"
    );
    let printed = setup.run(&["service", "status"]);
    assert!(
        printed.code == Some(0) && printed.stdout.contains("commands join it"),
        "{}",
        printed.stdout
    );

    let printed = setup.run(&["service", "uninstall"]);
    assert_eq!(printed.code, Some(0), "{}", printed.stderr);
    assert_eq!(setup.unit(), None);
    let deadline = Instant::now() + Duration::from_secs(120);
    while !setup.state()["gateway"].is_null() {
        assert!(Instant::now() < deadline, "the gateway goes on");
        std::thread::sleep(Duration::from_millis(50));
    }
    let calls = fs::read_to_string(setup.0.path("calls")).unwrap();
    let wanted = [
        "daemon-reload",
        "enable kitbag.service",
        "start kitbag.service",
        "disable --now kitbag.service",
    ];
    assert!(
        wanted
            .iter()
            .all(|it| calls.contains(&format!("--user {it}\n"))),
        "{calls}"
    );
    let printed = setup.run(&["service", "uninstall"]);
    assert!(
        printed.stderr.contains("the service is not installed"),
        "{}",
        printed.stderr
    );
}

#[test]
fn the_unit_has_the_path_by_which_kitbag_was_called_and_its_configuration() {
    let setup = ServiceHome::new();
    let link = setup.0.path("bin/kitbag");
    std::os::unix::fs::symlink(kitbag(), &link).unwrap();
    fs::write(
        setup.0.path("kitbag.toml"),
        "[servers.stranger]\ncommand = \"stranger\"\n",
    )
    .unwrap();
    let path = format!("{}:/usr/bin:/bin", setup.0.path("bin").display());
    let mut command = Command::new(&link);
    command
        .args(["service", "install"])
        .env_clear()
        .env("HOME", setup.0.path(""))
        .env("PATH", &path);
    // From another folder, so that files in the current directory do not matter.
    let output = command.current_dir(setup.0.path("bin")).output().unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let unit = setup.unit().unwrap();
    let line = |key: &str| {
        unit.lines()
            .find_map(|line| line.strip_prefix(key))
            .unwrap()
            .to_owned()
    };
    let words: Vec<String> = line("ExecStart=")
        .split(' ')
        .map(|word| word.trim_matches('"').to_owned())
        .collect();
    assert_eq!(words[0], link.to_str().unwrap());
    assert_eq!(
        words[1..],
        ["serve", "--config", setup.0.config().to_str().unwrap()]
    );
    assert!(Cli::try_parse_from(&words).is_ok(), "{words:?}");
    assert_eq!(line("Environment="), format!("\"PATH={path}\""));

    // Without systemd nothing can check the unit.
    let unit = setup.0.path(".config/systemd/user/kitbag.service");
    let mut verify = Command::new("systemd-analyze");
    verify
        .args(["verify", "--user", "--man=no"])
        .arg(unit)
        .env("XDG_RUNTIME_DIR", setup.0.path(""));
    if let Ok(verified) = verify.output() {
        let printed = String::from_utf8_lossy(&verified.stderr);
        assert!(
            verified.status.success() && !printed.contains("kitbag.service:"),
            "{printed}"
        );
    }
}

#[test]
fn without_systemd_nothing_is_written_and_a_remedy_is_printed() {
    let setup = ServiceHome::new();
    // The real `systemctl`, which has no bus here, or none.
    let output = setup
        .0
        .command(&["service", "install"])
        .env("PATH", "/usr/bin:/bin")
        .output()
        .unwrap();
    let printed = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1));
    assert!(
        printed.contains("cannot reach the systemd user instance")
            && printed.contains("try: keep `kitbag serve`"),
        "{printed}"
    );
    assert!(!setup.0.path(".config/systemd").exists());
}

#[test]
fn a_configuration_that_only_works_in_this_shell_is_not_installed() {
    let setup = ServiceHome::new();
    let text = fs::read_to_string(setup.0.config()).unwrap();
    fs::write(
        setup.0.config(),
        text.replace("enabled = false\nenv", "env"),
    )
    .unwrap();
    let path = format!("{}:/usr/bin:/bin", setup.0.path("bin").display());
    let mut command = setup.0.command(&["service", "install"]);
    let output = command
        .env("PATH", path)
        .env("SOME_KEY", "s3cret-value")
        .output()
        .unwrap();
    let printed = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1));
    assert!(
        printed.contains("refers to SOME_KEY, which is set here but not for services"),
        "{printed}"
    );
    assert!(
        printed.contains("kitbag secret set") && !printed.contains("s3cret-value"),
        "{printed}"
    );
    assert_eq!(setup.unit(), None);
}

#[test]
fn a_service_that_does_not_start_is_rolled_back() {
    let setup = ServiceHome::new();
    fs::write(setup.0.path("broken"), "").unwrap();
    let printed = setup.run(&["service", "install"]);
    assert_eq!(printed.code, Some(1));
    assert!(
        printed.stderr.contains("Job for kitbag.service failed."),
        "{}",
        printed.stderr
    );
    assert_eq!(setup.unit(), None);

    let foreign = "[Service]\nExecStart=/opt/kitbag serve\n";
    fs::write(setup.0.path(".config/systemd/user/kitbag.service"), foreign).unwrap();
    for verb in ["install", "uninstall"] {
        let printed = setup.run(&["service", verb]);
        assert!(
            printed.stderr.contains("was not written by Kitbag"),
            "{verb}: {}",
            printed.stderr
        );
        assert_eq!(setup.unit().as_deref(), Some(foreign));
    }
}
