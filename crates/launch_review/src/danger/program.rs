//! Programs that take another program as an argument, or run with other rights.

use super::interpreter::{self, CODE, SHELL};
use super::{Danger, option, program_name};
use crate::danger::variable;

pub(super) fn dangers(words: &[String]) -> Vec<Danger> {
    let mut found = Vec::new();
    for (at, word) in words.iter().enumerate() {
        // A word is a program if it is the first, or follows a launcher such as `env`, `timeout` or
        // `uv run`.
        if at > 0 && !is_launched(&words[..at]) {
            break;
        }
        let (name, rest) = (program_name(word), &words[at + 1..]);
        found.extend(interpreter::dangers(&name, rest));
        found.extend(program_dangers(&name));
        found.extend(subcommand_danger(&name, rest));
        found.extend(powershell_danger(&name, rest));
    }
    found.extend(assignment_dangers(words));
    found
}

/// True if the preceding words only launch it.
fn is_launched(before: &[String]) -> bool {
    before
        .first()
        .is_some_and(|first| LAUNCHERS.contains(&program_name(first).as_str()))
}

fn program_dangers(name: &str) -> impl Iterator<Item = Danger> {
    let known = ALWAYS
        .iter()
        .filter(move |(names, _)| names.contains(&name));
    known.map(move |(_, reason)| Danger::new(name, reason))
}

fn subcommand_danger(name: &str, rest: &[String]) -> Option<Danger> {
    let (_, verbs) = SUBCOMMANDS.iter().find(|(program, _)| *program == name)?;
    let verb = rest
        .iter()
        .find(|word| verbs.contains(&word.to_lowercase().as_str()))?;
    Some(Danger::new(&format!("{name} {verb}"), CODE))
}

/// PowerShell's options have one dash and may be abbreviated to any prefix.
fn powershell_danger(name: &str, rest: &[String]) -> Option<Danger> {
    if !matches!(name, "pwsh" | "powershell") {
        return None;
    }
    let flag = rest.iter().find(|word| runs_next_word(word))?;
    Some(Danger::new(&format!("{name} {flag}"), SHELL))
}

fn runs_next_word(word: &str) -> bool {
    const OPTIONS: [&str; 4] = ["command", "encodedcommand", "ec", "enc"];
    let small = word.to_lowercase();
    let letters = small.trim_start_matches(['-', '/']);
    let is_option = word.starts_with(['-', '/']) && !letters.is_empty();
    is_option && OPTIONS.iter().any(|known| known.starts_with(letters))
}

/// `env NAME=value program` sets variables, too.
fn assignment_dangers(words: &[String]) -> Vec<Danger> {
    if !is_launched(words) {
        return Vec::new();
    }
    let named = words.iter().filter_map(|word| word.split_once('='));
    named
        .filter_map(|(name, _)| variable::danger(name))
        .collect()
}

/// Finds a program that runs commands from files in its working directory.
pub(super) fn project_program_danger(words: &[String]) -> Option<Danger> {
    const REASON: &str = "runs commands from files of the project";
    let (first, rest) = words.split_first()?;
    let name = program_name(first);
    if PROJECT_PROGRAMS.contains(&name.as_str()) {
        return Some(Danger::new(&name, REASON));
    }
    let verb = rest.iter().find(|word| option(word).is_none())?;
    runs_project(&name, verb).then(|| Danger::new(&format!("{name} {verb}"), REASON))
}

fn runs_project(name: &str, verb: &str) -> bool {
    match name {
        "npm" | "pnpm" | "yarn" | "bun" | "deno" | "uv" => PROJECT_VERBS.contains(&verb),
        "docker" => verb == "compose",
        _ => false,
    }
}

/// Programs that run another program from a text without an option.
const ALWAYS: &[(&[&str], &str)] = &[
    (
        &[
            "sudo", "doas", "pkexec", "runuser", "gsudo", "nsenter", "chroot", "unshare",
        ],
        "runs with the rights of another user",
    ),
    (
        &[
            "awk",
            "gawk",
            "mawk",
            "nawk",
            "socat",
            "systemd-run",
            "at",
            "crontab",
        ],
        "runs programs given as text",
    ),
    (
        &["xargs", "parallel"],
        "runs programs with arguments that are not shown here",
    ),
];

/// Words that only mean a program together: the program, then one of these.
const SUBCOMMANDS: &[(&str, &[&str])] = &[
    ("deno", &["eval", "repl"]),
    ("cmd", &["/c", "/k", "/r"]),
    ("find", &["-exec", "-execdir", "-ok", "-okdir"]),
];

/// Programs that launch the program in a later word.
const LAUNCHERS: [&str; 44] = [
    "env",
    "sudo",
    "doas",
    "nice",
    "nohup",
    "timeout",
    "setsid",
    "stdbuf",
    "ionice",
    "time",
    "busybox",
    "toybox",
    "xargs",
    "exec",
    "command",
    "unshare",
    "chroot",
    "nsenter",
    "cross-env",
    "dotenv",
    "strace",
    "npx",
    "npm",
    "pnpm",
    "pnpx",
    "yarn",
    "bun",
    "bunx",
    "uv",
    "uvx",
    "pipx",
    "deno",
    "mise",
    "asdf",
    "nix",
    "nix-shell",
    "direnv",
    "conda",
    "poetry",
    "pipenv",
    "hatch",
    "wsl",
    "firejail",
    "bwrap",
];

/// Programs that run commands from a file in the folder, whatever their arguments.
const PROJECT_PROGRAMS: [&str; 18] = [
    "make",
    "just",
    "task",
    "rake",
    "gradle",
    "gradlew",
    "mvn",
    "cargo",
    "go",
    "poetry",
    "pdm",
    "hatch",
    "pipenv",
    "dotnet",
    "bundle",
    "composer",
    "mix",
    "docker-compose",
];

/// Verbs with which other programs do so.
const PROJECT_VERBS: [&str; 7] = [
    "run",
    "start",
    "test",
    "task",
    "run-script",
    "compose",
    "dev",
];
