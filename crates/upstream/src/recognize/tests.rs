//! Output of real servers, and its causes.

use crate::cause::Cause;

/// Compares the cause in its serialized form.
#[track_caller]
fn check(words: &str, expected: &str) {
    let found = Cause::recognize(words).map(|cause| serde_json::to_string(&cause).unwrap());
    assert_eq!(found.as_deref().unwrap_or_default(), expected, "{words}");
}

#[test]
fn a_library_of_another_version_is_recognized() {
    let new_mcp = r#"{"kind":"new_mcp_library"}"#;
    check(
        "Traceback…\nModuleNotFoundError: No module named 'mcp.server.fastmcp'. This is mcp 2.x, …",
        new_mcp,
    );
    check(
        "ImportError: cannot import name 'FastMCP' from 'mcp.server' (/x/mcp/server/__init__.py)",
        new_mcp,
    );
    check(
        "AttributeError: 'Server' object has no attribute 'list_resources'",
        new_mcp,
    );
    check(
        "ImportError: cannot import name 'McpError' from 'mcp' (/x/mcp/__init__.py)",
        new_mcp,
    );
    let pydantic = r#"{"kind":"new_pydantic"}"#;
    check(
        "pydantic.errors.PydanticUserError: A non-annotated attribute was detected",
        pydantic,
    );
    check(
        "  File \"/x/pydantic/_internal/_typing_extra.py\"\nTypeError: _eval_type() got an unexpected keyword",
        pydantic,
    );
}

#[test]
fn a_node_that_is_too_old_is_recognized_with_its_version() {
    check(
        "SyntaxError: The requested module 'node:fs' does not provide an export named 'globSync'\n\nNode.js v20.1.0",
        r#"{"kind":"old_node","found":"v20.1.0","needs":22}"#,
    );
    check(
        "ReferenceError: File is not defined\n    at x\n\nNode.js v18.2.0\n",
        r#"{"kind":"old_node","found":"v18.2.0","needs":22}"#,
    );
    check(
        "npm warn EBADENGINE Unsupported engine {\nnpm warn EBADENGINE   required: { node: '>=24.0.0' },\nnpm warn \
         EBADENGINE   current: { node: 'v20.1.0', npm: '9.2.0' }\nnpm warn EBADENGINE }",
        r#"{"kind":"old_node","found":"v20.1.0","needs":24}"#,
    );
    check(
        "notes requires Node.js 24 or later",
        r#"{"kind":"old_node","found":null,"needs":24}"#,
    );
    check(
        "TypeError: client.call is not a function\n\nNode.js v18.2.0",
        "",
    );
    check("Node version: 22.1.0\nbye", "");
}

#[test]
fn a_missing_module_package_or_program_is_recognized() {
    check(
        "Error: Cannot find module 'zod'\nRequire stack:",
        r#"{"kind":"missing_module","module":"zod"}"#,
    );
    check(
        "Error: Cannot find module '/home/ann/notes/dist/index.js'\n code: 'MODULE_NOT_FOUND', requireStack: []",
        r#"{"kind":"missing_file","path":"/home/ann/notes/dist/index.js"}"#,
    );
    check(
        "python3: can't open file '/srv/notes.py': [Errno 2] No such file or directory",
        r#"{"kind":"missing_file","path":"/srv/notes.py"}"#,
    );
    check(
        "/usr/bin/python3: No module named notes",
        r#"{"kind":"missing_module","module":"notes"}"#,
    );
    check(
        "ModuleNotFoundError: No module named 'httpx'",
        r#"{"kind":"missing_module","module":"httpx"}"#,
    );
    check(
        "npm error code E404\nnpm error 404 Not Found - GET https://registry/@acme%2fnotes - Not found\nnpm error \
         404  '@acme/notes@*' is not in this registry.",
        r#"{"kind":"no_such_package","package":"@acme/notes"}"#,
    );
    check(
        "  × No solution found when resolving tool dependencies:\n  ╰─▶ Because acme-notes was not found in the package \
         registry and you require acme-notes, we can conclude …",
        r#"{"kind":"no_such_package","package":"acme-notes"}"#,
    );
    check(
        "npm error code ETARGET\nnpm error notarget No matching version found for @acme/pdf@^0.2.2.\nnpm error notarget In \
         most cases you or one of your dependencies are requesting",
        r#"{"kind":"no_such_package","package":"@acme/pdf"}"#,
    );
    check(
        "npm error could not determine executable to run",
        r#"{"kind":"not_a_program","package":null}"#,
    );
    check(
        "An executable named `acme-mcp` is not provided by package `acme-mcp`.",
        r#"{"kind":"not_a_program","package":"acme-mcp"}"#,
    );
    for words in [
        "/usr/bin/env: ‘node’: No such file or directory",
        "env: node: No such file or directory",
        "sh: 1: node: not found",
        "bash: line 1: node: command not found",
        "zsh:1: command not found: node",
        "Error: spawn node ENOENT",
    ] {
        check(words, r#"{"kind":"not_found","command":"node"}"#);
    }
    check(
        "This package is deprecated. Use @acme/new instead.",
        r#"{"kind":"retired"}"#,
    );
}

#[test]
fn a_missing_variable_is_recognized_in_every_wording() {
    for words in [
        "Error: API_KEY environment variable is required",
        "Missing required environment variables: API_KEY, OTHER_KEY",
        "Traceback…\n  File \"/x.py\", line 3\nKeyError: 'API_KEY'",
        "1 validation error for Settings\napi_key\n  Field required [type=missing, input_value={}, input_type=dict]",
        "Please set API_KEY\n[stdout] bye",
    ] {
        check(words, r#"{"kind":"missing_variable","variable":"API_KEY"}"#);
    }
    check(
        "the environment variable TOKEN is not set",
        r#"{"kind":"missing_variable","variable":"TOKEN"}"#,
    );
    check("code: 'ERR_INVALID_ARG_TYPE' … undefined", "");
}

#[test]
fn arguments_keys_and_logins_are_recognized() {
    check(
        "usage: notes [-h] --db DB\nnotes: error: the following arguments are required: --db",
        r#"{"kind":"wrong_arguments","said":"notes: error: the following arguments are required: --db"}"#,
    );
    check(
        "[stdout] Usage: notes <folder>",
        r#"{"kind":"wrong_arguments","said":"Usage: notes <folder>"}"#,
    );
    check(
        "Error: Request failed with status code 401",
        r#"{"kind":"bad_credentials"}"#,
    );
    check(
        "To sign in, open https://example.com/devicelogin and enter the code ABCD",
        r#"{"kind":"own_login","url":"https://example.com/devicelogin"}"#,
    );
    check(
        "INFO:     Uvicorn running on http://127.0.0.1:8000 (Press CTRL+C to quit)",
        r#"{"kind":"serves_http","url":"http://127.0.0.1:8000"}"#,
    );
}

#[test]
fn a_missing_network_service_port_or_file_is_recognized() {
    check(
        "Error: getaddrinfo ENOTFOUND api.example.com",
        r#"{"kind":"no_network","host":"api.example.com"}"#,
    );
    check(
        "npm error code ECONNREFUSED\nnpm error FetchError: …",
        r#"{"kind":"no_network","host":null}"#,
    );
    check(
        "connect ECONNREFUSED 127.0.0.1:5432",
        r#"{"kind":"service_down","address":"127.0.0.1:5432"}"#,
    );
    check(
        "Cannot connect to the Docker daemon at unix:///var/run/docker.sock. Is the docker daemon running?",
        r#"{"kind":"service_down","address":"Docker"}"#,
    );
    check(
        "Error: listen EADDRINUSE: address already in use :::3000",
        r#"{"kind":"port_taken","port":3000}"#,
    );
    check(
        "Failed to start: Port 3001 is already in use. Set PORT to a free port.",
        r#"{"kind":"port_taken","port":3001}"#,
    );
    check(
        "ERROR:git.server:/srv/shop does not exist",
        r#"{"kind":"missing_file","path":"/srv/shop"}"#,
    );
    check(
        "Warning: Cannot access directory /srv/shop, skipping",
        r#"{"kind":"missing_file","path":"/srv/shop"}"#,
    );
    check(
        "npm error code SELF_SIGNED_CERT_IN_CHAIN",
        r#"{"kind":"untrusted"}"#,
    );
    check(
        "Error: EACCES: permission denied, mkdir '/var/notes'",
        r#"{"kind":"forbidden","path":"/var/notes"}"#,
    );
    check(
        "TypeError: fetch failed\n  [cause]: Error: connect ECONNREFUSED 127.0.0.1:8080",
        r#"{"kind":"service_down","address":"127.0.0.1:8080"}"#,
    );
    check("the container name \"notes\" is already in use", "");
    check("something else entirely", "");
}
