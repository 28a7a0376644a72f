//! Signs that a part of a server is missing, or has another version than the server expects.

use super::ServerOutput;
use crate::advice::strip_version;
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
    let import = output.contains_any(&["cannot import name"])
        && output.contains_any(&["from 'mcp'", "from 'mcp."]);
    let attribute =
        output.contains_any(&["module 'mcp"]) && output.contains_any(&["has no attribute"]);
    (output.contains_any(&plain)
        || decorators.iter().any(|name| lacks_decorator(output, name))
        || import
        || attribute)
        .then_some(Cause::NewMcpLibrary)
}

fn lacks_decorator(output: &ServerOutput<'_>, name: &str) -> bool {
    output.contains_any(&[&format!("'server' object has no attribute '{name}'")])
}

pub(super) fn new_pydantic(output: &ServerOutput<'_>) -> Option<Cause> {
    let broken = [
        "importerror",
        "attributeerror",
        "pydanticusererror",
        "pydanticschemagenerationerror",
    ];
    let typed = output.contains_any(&["typeerror"])
        && output.contains_any(&["_typing_extra", "_generate_schema"]);
    (output.contains_any(&["pydantic"]) && (output.contains_any(&broken) || typed))
        .then_some(Cause::NewPydantic)
}

/// Recognizes functions of later versions, and messages of servers that check the version.
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
    let found = output.text_after("node.js v", &['\n', ' ', ',', ')']);
    let is_old = found
        .as_ref()
        .and_then(|version| version.split('.').next()?.parse().ok())
        .is_some_and(|major: u32| major < NODE);
    let asked = output.contains_any(&["err_require_esm"]) || asks_for_node(output);
    (asked || (is_old && output.contains_any(&gained))).then(|| old_node_cause(output, found))
}

/// True if the server says which Node.js it needs. Many servers only print the one they run with.
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
        .lines_with(&["node.js ", "node ", "nodejs "])
        .map(str::to_lowercase);
    lines.any(|line| {
        !line.contains("node_module_version") && WANTS.iter().any(|word| line.contains(word))
    })
}

/// Recognizes a warning of npm, which is a weaker sign than all others.
pub(super) fn old_engine(output: &ServerOutput<'_>) -> Option<Cause> {
    output
        .contains_any(&["ebadengine", "unsupported engine"])
        .then(|| old_node_cause(output, output.text_after("node: 'v", &['\''])))
}

fn old_node_cause(output: &ServerOutput<'_>, found: Option<String>) -> Cause {
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
        .find_map(|words| first_number(&output.text_after(words, &['\n', '\'', '"', ','])?));
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
    let quoted = named
        .iter()
        .find_map(|words| output.text_after(words, &['\'']));
    let module = quoted.or_else(|| output.text_after("no module named ", &[' ', '\n']));
    output
        .contains_any(&signs)
        .then_some(Cause::MissingModule { module })
}

pub(super) fn no_such_package(output: &ServerOutput<'_>) -> Option<Cause> {
    let npm = output.contains_any(&[
        "e404",
        "is not in this registry",
        "is not in the npm registry",
        "etarget",
    ]);
    let pip = output.contains_any(&[
        "was not found in the package registry",
        "no matching distribution found",
    ]);
    let none = output.contains_any(&["no solution found when resolving"])
        && output.contains_any(&["there are no versions of"]);
    let package = output
        .text_after("because ", &[' ', '\n'])
        .or_else(|| output.text_after("no matching distribution found for ", &[' ', '\n']))
        .or_else(|| {
            output
                .text_after("no matching version found for ", &['\n', ' '])
                .map(|package| strip_version(package.trim_end_matches('.')))
        })
        .or_else(|| quoted_before(output, "is not in this registry"));
    (npm || pip || none).then_some(Cause::NoSuchPackage { package })
}

/// Returns the package in front of this text, such as `'@acme/notes@*'`, without the version.
fn quoted_before(output: &ServerOutput<'_>, words: &str) -> Option<String> {
    let before = output.text.get(..output.lower.find(words)?)?;
    let name = before
        .rsplit(['\'', '"'])
        .find(|part| !part.trim().is_empty())?
        .trim();
    Some(strip_version(name))
}

pub(super) fn not_a_program(output: &ServerOutput<'_>) -> Option<Cause> {
    let npm = output.contains_any(&["could not determine executable to run"]);
    let uv = output.contains_any(&["is not provided by package"]);
    let package = output.text_after("is not provided by package `", &['`']);
    (npm || uv).then_some(Cause::NotAProgram { package })
}

/// Recognizes a message of a shell, `env` or Node.js about a missing program.
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
    let line = output.text_after("env: ", &['\n'])?;
    let command = line.split(':').next()?;
    line.contains("No such file").then(|| command.to_owned())
}

fn from_node(output: &ServerOutput<'_>) -> Option<String> {
    let line = output.text_after("spawn ", &['\n'])?;
    line.strip_suffix(" ENOENT").map(str::to_owned)
}

fn from_shell(output: &ServerOutput<'_>) -> Option<String> {
    const BEHIND_IT: &[&str] = &[": command not found", ": not found"];
    if let Some(command) = output.text_after("command not found: ", &[' ', '\n']) {
        return Some(command);
    }
    let line = output.lines_with(BEHIND_IT).next()?;
    let before = BEHIND_IT.iter().find_map(|words| line.split_once(words))?.0;
    before.rsplit(": ").next().map(str::to_owned)
}

pub(super) fn moved_package(output: &ServerOutput<'_>) -> Option<Cause> {
    let moved = [
        "deprecated",
        "no longer maintained",
        "no longer supported",
        "has moved to",
        "has been renamed",
    ];
    output.contains_any(&moved).then_some(Cause::Retired)
}
