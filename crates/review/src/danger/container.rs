//! Ways out of a container: the parts of the machine that a container gets.

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

/// Returns the options and mounts of a docker or podman container that let it out.
pub(super) fn dangers(words: &[String]) -> Vec<Danger> {
    let Some(at) = words
        .iter()
        .position(|word| PROGRAMS.contains(&program_name(word).as_str()))
    else {
        return Vec::new();
    };
    let rest = &words[at + 1..];
    let following = rest.iter().skip(1).map(Some).chain([None]);
    let mut found: Vec<_> = rest
        .iter()
        .zip(following)
        .filter_map(|(word, next)| flag(word, next))
        .collect();
    let sockets = rest.iter().filter(|word| {
        ["docker.sock", "podman.sock", "containerd.sock"]
            .iter()
            .any(|it| word.contains(it))
    });
    found
        .extend(sockets.map(|word| Danger::new(word, "whoever has this socket rules the machine")));
    found
}

fn flag(word: &str, next: Option<&String>) -> Option<Danger> {
    let (flag, value) = parted(word, next)?;
    let reason = reason(
        flag.trim_start_matches('-'),
        flag.starts_with("--"),
        &value.to_lowercase(),
    )?;
    let form = if flag == "--privileged" {
        flag.to_owned()
    } else {
        format!("{flag} {value}")
    };
    Some(Danger::new(&form, reason))
}

/// Returns an option and its value, however the two are written.
fn parted<'a>(word: &'a str, next: Option<&'a String>) -> Option<(&'a str, &'a str)> {
    let behind = next.map(String::as_str).unwrap_or_default();
    if word.starts_with("--") {
        return Some(word.split_once('=').unwrap_or((word, behind)));
    }
    let letters = word.strip_prefix('-')?;
    // Letters of switches may stand before the one that takes a value.
    let at = letters.find(|c: char| !"itdPq".contains(c))?;
    let end = 1 + at + letters[at..].chars().next()?.len_utf8();
    let (flag, attached) = word.split_at(end);
    Some((
        flag,
        if attached.is_empty() {
            behind
        } else {
            attached.trim_start_matches('=')
        },
    ))
}

fn reason(name: &str, is_long: bool, value: &str) -> Option<&'static str> {
    let is_host = value == "host" || value.starts_with("container:") || value.starts_with("ns:");
    let short = if is_long { "" } else { name };
    Some(match name {
        "privileged" if value != "false" => "the container may do everything the machine can",
        "volume" if is_host_path(value) => MOUNT,
        _ if short.ends_with('v') && is_host_path(value) => MOUNT,
        "mount" if is_host_mount(value) => MOUNT,
        "volumes-from" => "takes the folders of another container",
        "network" | "net" if is_host => "shares the network with the machine",
        "pid" | "ipc" | "uts" | "userns" | "cgroupns" if is_host => {
            "shares the machine's processes"
        }
        "device" | "device-cgroup-rule" => "reaches a device of the machine",
        "cap-add" | "security-opt" | "sysctl" | "runtime" | "cgroup-parent" => {
            "loosens what keeps the container in"
        }
        "env-file" => "hands over the variables in a file",
        "use-api-socket" => "whoever has this socket rules the machine",
        "host" | "context" | "connection" | "url" => "is run by a machine that the author chose",
        _ => return None,
    })
}

const MOUNT: &str = "opens a folder of the machine to the container";

/// A volume by name stays with the container program; anything else is a place on this machine.
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
