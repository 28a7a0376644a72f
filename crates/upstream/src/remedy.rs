//! Recognises in a dying server's last words what usually helps.

/// What to do, if the text names a cause we have met before.
pub(crate) fn remedy(stderr: &str) -> Option<String> {
    let text = stderr.to_lowercase();
    let has = |needle: &str| text.contains(needle);

    if has("cannot import name 'fastmcp'")
        || (has("mcp.server.fastmcp") && has("no module named"))
        || has("has no attribute 'list_tools'")
    {
        return Some("this server needs an older MCP library: run it with `uvx --with 'mcp<2' …`".to_owned());
    }
    if has("pydantic") && (has("importerror") || has("attributeerror") || has("pydanticusererror")) {
        return Some(
            "this server needs an older pydantic: run it with `uvx --with 'pydantic<2.12' …`".to_owned(),
        );
    }
    if has("err_require_esm")
        || has("requires node")
        || has("unsupported engine")
        || has("node.js v1")
        || has("globsync")
    {
        return Some("this server needs a newer Node.js: install Node 22 or later".to_owned());
    }
    if let Some(variable) = missing_variable(stderr) {
        return Some(format!(
            "set `{variable}` in the server's `env`, e.g. env = {{ {variable} = \"${{{variable}}}\" }}"
        ));
    }
    if has("enotfound")
        || has("eai_again")
        || has("getaddrinfo")
        || has("name resolution")
        || has("network is unreachable")
    {
        return Some(
            "this server needs the network at start; check the connection or a proxy setting".to_owned(),
        );
    }
    if has("econnrefused") || has("connection refused") {
        return Some(
            "this server needs a service that is not running; start it or correct its address".to_owned(),
        );
    }
    if has("modulenotfounderror") || has("cannot find module") {
        return Some("a package of this server is missing: install it again".to_owned());
    }
    if has("404 not found") && has("npm") || has("e404") {
        return Some("the package name is wrong, or it was withdrawn".to_owned());
    }
    if has("eaddrinuse") || has("address already in use") {
        return Some("another process uses its port; stop that one or choose another port".to_owned());
    }
    None
}

/// Something in capitals with an underscore, near words of absence.
fn missing_variable(stderr: &str) -> Option<&str> {
    let absent = [
        "required",
        "missing",
        "not set",
        "must be set",
        "not provided",
        "is not defined",
        "please set",
        "undefined",
    ];
    stderr
        .lines()
        .rev()
        .filter(|line| {
            let line = line.to_lowercase();
            absent.iter().any(|word| line.contains(word))
        })
        .find_map(|line| {
            line.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').find(|word| {
                word.len() > 4
                    && word.contains('_')
                    && word.chars().all(|c| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_')
            })
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(stderr: &str, expect: &str) {
        let found = remedy(stderr).unwrap_or_default();
        assert!(found.contains(expect), "{stderr:?} → {found:?}");
    }

    #[test]
    fn known_last_words_lead_to_what_helps() {
        check("Error: API_KEY environment variable is required", "API_KEY");
        check("Traceback…\nModuleNotFoundError: No module named 'mcp.server.fastmcp'", "mcp<2");
        check("AttributeError: 'Server' object has no attribute 'list_tools'", "mcp<2");
        check("SyntaxError: … does not provide an export named 'globSync'\nNode.js v20.1.0", "Node 22");
        check("Error: getaddrinfo ENOTFOUND api.example.com", "network");
        check("connect ECONNREFUSED 127.0.0.1:5432", "not running");
        assert_eq!(remedy("something else entirely"), None);
    }
}
