//! Signs that something a server is made of is missing, or of another version than it expects.

use super::Said;
use crate::cause::Cause;
use crate::programs::NODE;
use crate::remedy::unversioned;

pub(super) fn new_mcp_library(said: &Said<'_>) -> Option<Cause> {
    let decorators = [
        "list_tools",
        "call_tool",
        "list_resources",
        "read_resource",
        "list_prompts",
        "get_prompt",
    ];
    let decorator = |name: &&str| {
        said.lower
            .contains(&format!("'server' object has no attribute '{name}'"))
    };
    let plain = [
        "this is mcp 2.x",
        "cannot import name 'fastmcp'",
        "no module named 'mcp.server.fastmcp'",
    ];
    let import = said.has(&["cannot import name"]) && said.has(&["from 'mcp'", "from 'mcp."]);
    let attribute = said.has(&["module 'mcp"]) && said.has(&["has no attribute"]);
    (said.has(&plain) || decorators.iter().any(decorator) || import || attribute)
        .then_some(Cause::NewMcpLibrary)
}

pub(super) fn new_pydantic(said: &Said<'_>) -> Option<Cause> {
    let broken = [
        "importerror",
        "attributeerror",
        "pydanticusererror",
        "pydanticschemagenerationerror",
    ];
    let typed = said.has(&["typeerror"]) && said.has(&["_typing_extra", "_generate_schema"]);
    (said.has(&["pydantic"]) && (said.has(&broken) || typed)).then_some(Cause::NewPydantic)
}

/// What the language or its library gained since, and words of those who check for themselves.
pub(super) fn old_node(said: &Said<'_>) -> Option<Cause> {
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
    let found = said.after("node.js v", &['\n', ' ', ',', ')']);
    let is_old = found
        .as_ref()
        .and_then(|it| it.split('.').next()?.parse().ok())
        .is_some_and(|it: u32| it < NODE);
    let asked = said.has(&["err_require_esm"]) || asks_for_node(said);
    (asked || (is_old && said.has(&gained))).then(|| old(said, found))
}

/// Many say in passing which Node.js they run with; only some say which one they want.
fn asks_for_node(said: &Said<'_>) -> bool {
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
    let mut lines = said
        .lines(&["node.js ", "node ", "nodejs "])
        .map(str::to_lowercase);
    lines.any(|line| {
        !line.contains("node_module_version") && WANTS.iter().any(|word| line.contains(word))
    })
}

/// npm only warns of it, so that a plainer sign goes first.
pub(super) fn old_engine(said: &Said<'_>) -> Option<Cause> {
    said.has(&["ebadengine", "unsupported engine"])
        .then(|| old(said, said.after("node: 'v", &['\''])))
}

fn old(said: &Said<'_>, found: Option<String>) -> Cause {
    let wanted = [
        "node: '>=",
        "node >=",
        "node.js >=",
        "requires node ",
        "requires node.js ",
        "node version >=",
    ];
    let number = |text: String| {
        let digits: String = text
            .chars()
            .skip_while(|c| !c.is_ascii_digit())
            .take_while(char::is_ascii_digit)
            .collect();
        digits.parse().ok()
    };
    let needs = wanted
        .iter()
        .find_map(|words| number(said.after(words, &['\n', '\'', '"', ','])?));
    Cause::OldNode {
        found: found.map(|it| format!("v{it}")),
        needs: needs.unwrap_or(NODE),
    }
}

pub(super) fn missing_module(said: &Said<'_>) -> Option<Cause> {
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
    let quoted = named.iter().find_map(|words| said.after(words, &['\'']));
    let module = quoted.or_else(|| said.after("no module named ", &[' ', '\n']));
    said.has(&signs).then_some(Cause::MissingModule { module })
}

pub(super) fn no_such_package(said: &Said<'_>) -> Option<Cause> {
    let npm = said.has(&[
        "e404",
        "is not in this registry",
        "is not in the npm registry",
        "etarget",
    ]);
    let pip = said.has(&[
        "was not found in the package registry",
        "no matching distribution found",
    ]);
    let none =
        said.has(&["no solution found when resolving"]) && said.has(&["there are no versions of"]);
    let package = said
        .after("because ", &[' ', '\n'])
        .or_else(|| said.after("no matching distribution found for ", &[' ', '\n']))
        .or_else(|| {
            said.after("no matching version found for ", &['\n', ' '])
                .map(|it| unversioned(it.trim_end_matches('.')))
        })
        .or_else(|| quoted_before(said, "is not in this registry"));
    (npm || pip || none).then_some(Cause::NoSuchPackage { package })
}

/// `'@acme/notes@*'` in front of these words, without the version.
fn quoted_before(said: &Said<'_>, words: &str) -> Option<String> {
    let before = said.text.get(..said.lower.find(words)?)?;
    let name = before
        .rsplit(['\'', '"'])
        .find(|part| !part.trim().is_empty())?
        .trim();
    Some(unversioned(name))
}

pub(super) fn not_a_program(said: &Said<'_>) -> Option<Cause> {
    let npm = said.has(&["could not determine executable to run"]);
    let uv = said.has(&["is not provided by package"]);
    let package = said.after("is not provided by package `", &['`']);
    (npm || uv).then_some(Cause::NotAProgram { package })
}

/// What a shell, `env` or Node.js says of a program that is not there.
pub(super) fn not_found(said: &Said<'_>) -> Option<Cause> {
    let from_env = said
        .after("env: ", &['\n'])
        .filter(|it| it.contains("No such file"));
    let from_env = from_env.and_then(|it| it.split(':').next().map(str::to_owned));
    let spawned = || {
        said.after("spawn ", &['\n'])?
            .strip_suffix(" ENOENT")
            .map(str::to_owned)
    };
    let command = from_env.or_else(spawned).or_else(|| from_shell(said))?;
    let command = command.trim_matches(['\'', '"', '‘', '’', '`', ' ']);
    let is_word = !command.is_empty() && !command.contains(' ');
    is_word.then(|| Cause::NotFound {
        command: command.to_owned(),
    })
}

fn from_shell(said: &Said<'_>) -> Option<String> {
    const BEHIND_IT: &[&str] = &[": command not found", ": not found"];
    if let Some(command) = said.after("command not found: ", &[' ', '\n']) {
        return Some(command);
    }
    let line = said.lines(BEHIND_IT).next()?;
    let before = BEHIND_IT.iter().find_map(|words| line.split_once(words))?.0;
    before.rsplit(": ").next().map(str::to_owned)
}

pub(super) fn retired(said: &Said<'_>) -> Option<Cause> {
    let moved = [
        "deprecated",
        "no longer maintained",
        "no longer supported",
        "has moved to",
        "has been renamed",
    ];
    said.has(&moved).then_some(Cause::Retired)
}
