//! Ways out of a container: access to the machine that a container gets.

use super::{Danger, program_name};

const PROGRAMS: [&str; 7] = [
    "docker",
    "podman",
    "nerdctl",
    "docker-compose",
    "podman-remote",
    "finch",
    "container",
];

/// The sockets that control a container engine.
const SOCKETS: [&str; 3] = ["docker.sock", "podman.sock", "containerd.sock"];

/// Returns the options and mounts that let a docker or podman container escape.
pub(super) fn dangers(words: &[String]) -> Vec<Danger> {
    let mut names = words.iter().map(|word| program_name(word));
    let Some(at) = names.position(|name| PROGRAMS.contains(&name.as_str())) else {
        return Vec::new();
    };
    let rest = &words[at + 1..];
    let following = rest.iter().skip(1).map(Some).chain([None]);
    let flags = rest.iter().zip(following);
    let flags = flags.filter_map(|(word, next)| flag_danger(word, next));
    let sockets = rest.iter().filter(|word| names_socket(word));
    let sockets = sockets.map(|word| Danger::new(word, SOCKET));
    flags.chain(sockets).collect()
}

fn names_socket(word: &str) -> bool {
    SOCKETS.iter().any(|socket| word.contains(socket))
}

fn flag_danger(word: &str, next: Option<&String>) -> Option<Danger> {
    let (flag, value) = split_option(word, next)?;
    let reason = flag_reason(flag, &value.to_lowercase())?;
    Some(match flag {
        "--privileged" => Danger::new(flag, reason),
        _ => Danger::new(&format!("{flag} {value}"), reason),
    })
}

/// Returns an option and its value, in either notation.
fn split_option<'a>(word: &'a str, next: Option<&'a String>) -> Option<(&'a str, &'a str)> {
    let next_word = next.map(String::as_str).unwrap_or_default();
    if word.starts_with("--") {
        return Some(word.split_once('=').unwrap_or((word, next_word)));
    }
    let letters = word.strip_prefix('-')?;
    // Letters of switches may precede the one that takes a value.
    let at = letters.find(|c: char| !"itdPq".contains(c))?;
    let end = 1 + at + letters[at..].chars().next()?.len_utf8();
    Some(match word.split_at(end) {
        (flag, "") => (flag, next_word),
        (flag, attached) => (flag, attached.trim_start_matches('=')),
    })
}

fn flag_reason(flag: &str, value: &str) -> Option<&'static str> {
    Some(match flag.trim_start_matches('-') {
        "privileged" if value != "false" => "the container gets full access to the machine",
        "volume" if is_host_path(value) => MOUNT,
        "mount" if is_host_mount(value) => MOUNT,
        "volumes-from" => "mounts the folders of another container",
        "network" | "net" if is_shared(value) => "shares the network with the machine",
        "pid" | "ipc" | "uts" | "userns" | "cgroupns" if is_shared(value) => {
            "shares the machine's processes"
        }
        "device" | "device-cgroup-rule" => "reaches a device of the machine",
        "cap-add" | "security-opt" | "sysctl" | "runtime" | "cgroup-parent" => {
            "weakens the isolation of the container"
        }
        "env-file" => "passes on the variables in a file",
        "use-api-socket" => SOCKET,
        "host" | "context" | "connection" | "url" => "runs on a machine that the author chose",
        letters if !flag.starts_with("--") && letters.ends_with('v') && is_host_path(value) => {
            MOUNT
        }
        _ => return None,
    })
}

/// True if a namespace belongs to the machine or to another container.
fn is_shared(value: &str) -> bool {
    value == "host" || value.starts_with("container:") || value.starts_with("ns:")
}

const MOUNT: &str = "opens a folder of the machine to the container";
const SOCKET: &str = "a program with this socket controls the machine";

/// A named volume stays with the container engine; anything else is a path on this machine.
fn is_host_path(value: &str) -> bool {
    value.contains(':') && value.starts_with(['/', '~', '.', '$', '\\'])
        || value.get(1..3) == Some(":\\")
}

fn is_host_mount(value: &str) -> bool {
    let mut parts = value.split(',').filter_map(|part| part.split_once('='));
    parts.any(|(key, value)| match key {
        "type" => matches!(value, "bind" | "npipe"),
        "src" | "source" => value.starts_with(['/', '~', '.', '$', '\\']),
        _ => false,
    })
}
