//! Signs that a part of a server is missing, or has another version than the server expects.

use super::ServerOutput;
use crate::advice::unversioned;
use crate::cause::Cause;
use crate::programs::NODE;

pub(super) fn new_mcp_library(output: &ServerOutput<'_>) -> Option<Cause> {
    let decorators = [
        "list_tools",
        "call_tool",
        "list_resources",
        "read_resource",
        "list_prompts",
        "get_prompt",
    ];
    let plain = [
        "this is mcp 2.x",
        "cannot import name 'fastmcp'",
        "no module named 'mcp.server.fastmcp'",
    ];
    let import = output.has(&["cannot import name"]) && output.has(&["from 'mcp'", "from 'mcp."]);
    let attribute = output.has(&["module 'mcp"]) && output.has(&["has no attribute"]);
    (output.has(&plain)
        || decorators.iter().any(|name| lacks_decorator(output, name))
        || import
        || attribute)
        .then_some(Cause::NewMcpLibrary)
}

fn lacks_decorator(output: &ServerOutput<'_>, name: &str) -> bool {
    output.has(&[&format!("'server' object has no attribute '{name}'")])
}

pub(super) fn new_pydantic(output: &ServerOutput<'_>) -> Option<Cause> {
    let broken = [
        "importerror",
        "attributeerror",
        "pydanticusererror",
        "pydanticschemagenerationerror",
    ];
    let typed = output.has(&["typeerror"]) && output.has(&["_typing_extra", "_generate_schema"]);
    (output.has(&["pydantic"]) && (output.has(&broken) || typed)).then_some(Cause::NewPydantic)
}

/// Recognises functions that later versions have, and the words of servers that check the version.
pub(super) fn old_node(output: &ServerOutput<'_>) -> Option<Cause> {
    let gained = [
        "requested module 'node:",
        "requested module 'fs",
        "globsync",
        "err_unknown_builtin_module",
        "no such built-in module",
        "withresolvers is not a function",
        "groupby is not a function",
        "fromasync is not a function",
        "styletext is not a function",
        "getbuiltinmodule is not a function",
        "file is not defined",
        "fetch is not defined",
        "websocket is not defined",
        "crypto is not defined",
        "unexpected token 'with'",
        "bad option: --",
    ];
    let found = output.after("node.js v", &['\n', ' ', ',', ')']);
    let is_old = found
        .as_ref()
        .and_then(|version| version.split('.').next()?.parse().ok())
        .is_some_and(|major: u32| major < NODE);
    let asked = output.has(&["err_require_esm"]) || asks_for_node(output);
    (asked || (is_old && output.has(&gained))).then(|| old(output, found))
}

/// True if the server says which Node.js it needs. Many servers only say which one they run with.
fn asks_for_node(output: &ServerOutput<'_>) -> bool {
    const WANTS: [&str; 8] = [
        "requires",
        "required",
        "unsupported",
        "upgrade",
        "minimum",
        "or later",
        "or higher",
        "at least",
    ];
    let mut lines = output
        .lines(&["node.js ", "node ", "nodejs "])
        .map(str::to_lowercase);
    lines.any(|line| {
        !line.contains("node_module_version") && WANTS.iter().any(|word| line.contains(word))
    })
}

/// Recognises a warning of npm, which is a weaker sign than all others.
pub(super) fn old_engine(output: &ServerOutput<'_>) -> Option<Cause> {
    output
        .has(&["ebadengine", "unsupported engine"])
        .then(|| old(output, output.after("node: 'v", &['\''])))
}

fn old(output: &ServerOutput<'_>, found: Option<String>) -> Cause {
    let wanted = [
        "node: '>=",
        "node >=",
        "node.js >=",
        "requires node ",
        "requires node.js ",
        "node version >=",
    ];
    let needs = wanted
        .iter()
        .find_map(|words| first_number(&output.after(words, &['\n', '\'', '"', ','])?));
    Cause::OldNode {
        found: found.map(|version| format!("v{version}")),
        needs: needs.unwrap_or(NODE),
    }
}

fn first_number(text: &str) -> Option<u32> {
    let begin = text.trim_start_matches(|c: char| !c.is_ascii_digit());
    let digits = begin.split(|c: char| !c.is_ascii_digit()).next()?;
    digits.parse().ok()
}

pub(super) fn missing_module(output: &ServerOutput<'_>) -> Option<Cause> {
    let signs = [
        "no module named",
        "cannot find module",
        "cannot find package",
        "could not locate the bindings file",
        "node_module_version",
        "err_dlopen_failed",
    ];
    let named = [
        "no module named '",
        "cannot find module '",
        "cannot find package '",
    ];
    let quoted = named.iter().find_map(|words| output.after(words, &['\'']));
    let module = quoted.or_else(|| output.after("no module named ", &[' ', '\n']));
    output
        .has(&signs)
        .then_some(Cause::MissingModule { module })
}

pub(super) fn no_such_package(output: &ServerOutput<'_>) -> Option<Cause> {
    let npm = output.has(&[
        "e404",
        "is not in this registry",
        "is not in the npm registry",
        "etarget",
    ]);
    let pip = output.has(&[
        "was not found in the package registry",
        "no matching distribution found",
    ]);
    let none = output.has(&["no solution found when resolving"])
        && output.has(&["there are no versions of"]);
    let package = output
        .after("because ", &[' ', '\n'])
        .or_else(|| output.after("no matching distribution found for ", &[' ', '\n']))
        .or_else(|| {
            output
                .after("no matching version found for ", &['\n', ' '])
                .map(|package| unversioned(package.trim_end_matches('.')))
        })
        .or_else(|| quoted_before(output, "is not in this registry"));
    (npm || pip || none).then_some(Cause::NoSuchPackage { package })
}

/// Returns the package in front of these words, such as `'@acme/notes@*'`, without the version.
fn quoted_before(output: &ServerOutput<'_>, words: &str) -> Option<String> {
    let before = output.text.get(..output.lower.find(words)?)?;
    let name = before
        .rsplit(['\'', '"'])
        .find(|part| !part.trim().is_empty())?
        .trim();
    Some(unversioned(name))
}

pub(super) fn not_a_program(output: &ServerOutput<'_>) -> Option<Cause> {
    let npm = output.has(&["could not determine executable to run"]);
    let uv = output.has(&["is not provided by package"]);
    let package = output.after("is not provided by package `", &['`']);
    (npm || uv).then_some(Cause::NotAProgram { package })
}

/// Recognises the words of a shell, `env` or Node.js about a program that is not there.
pub(super) fn not_found(output: &ServerOutput<'_>) -> Option<Cause> {
    let command = from_env(output)
        .or_else(|| from_node(output))
        .or_else(|| from_shell(output))?;
    let command = command.trim_matches(['\'', '"', '‘', '’', '`', ' ']);
    let is_word = !command.is_empty() && !command.contains(' ');
    is_word.then(|| Cause::NotFound {
        command: command.to_owned(),
    })
}

fn from_env(output: &ServerOutput<'_>) -> Option<String> {
    let line = output.after("env: ", &['\n'])?;
    let command = line.split(':').next()?;
    line.contains("No such file").then(|| command.to_owned())
}

fn from_node(output: &ServerOutput<'_>) -> Option<String> {
    let line = output.after("spawn ", &['\n'])?;
    line.strip_suffix(" ENOENT").map(str::to_owned)
}

fn from_shell(output: &ServerOutput<'_>) -> Option<String> {
    const BEHIND_IT: &[&str] = &[": command not found", ": not found"];
    if let Some(command) = output.after("command not found: ", &[' ', '\n']) {
        return Some(command);
    }
    let line = output.lines(BEHIND_IT).next()?;
    let before = BEHIND_IT.iter().find_map(|words| line.split_once(words))?.0;
    before.rsplit(": ").next().map(str::to_owned)
}

pub(super) fn retired(output: &ServerOutput<'_>) -> Option<Cause> {
    let moved = [
        "deprecated",
        "no longer maintained",
        "no longer supported",
        "has moved to",
        "has been renamed",
    ];
    output.has(&moved).then_some(Cause::Retired)
}
