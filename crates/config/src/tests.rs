//! Tests configurations as written, and the values they become.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use kitbag_domain::{Caller, Capability, Launch, Reach, RemoteEndpoint, RemoteTransport, Template};
use kitbag_upstream::oauth::Settings;
use kitbag_upstream::{ServerKind, ServerLimits};
use kitbag_wire::Era;

use super::*;

fn test_environment() -> Environment {
    Environment {
        cwd: "/work".into(),
        home: Some("/home/ann".into()),
        config_home: None,
        data_home: None,
    }
}

pub(crate) fn config(text: &str) -> Result<Config, ConfigError> {
    parse(
        text,
        Some(Path::new("/etc/kitbag.toml")),
        &Overrides::default(),
        &test_environment(),
    )
}

/// `error` is the message that the user reads; after `=>` comes the remedy, if there is one.
#[track_caller]
pub(crate) fn check(text: &str, error: &str) {
    let found = config(text).expect_err("the configuration should be refused");
    let mut message = found.to_string().replace("/etc/kitbag.toml, ", "");
    if let Some(remedy) = found.remedy() {
        message = format!("{message} => {remedy}");
    }
    assert_eq!(message, error);
}

#[test]
fn an_unknown_key_is_reported_with_its_line_and_the_nearest_known_key() {
    check(
        "[serve]\nbnd = 1",
        "line 2, in `serve`: unknown key `bnd` => did you mean `bind`?",
    );
    check(
        "[server.git]\ncommand = 'x'",
        "line 1: unknown key `server` => did you mean `servers`?",
    );
    check(
        "[servers.git]\ncommand = 'git-mcp'\nenviron = {}",
        "line 3, in `servers.git`: unknown key `environ` => did you mean `env`?",
    );
    check(
        "[policy]\nDeny_Tools = []",
        "line 2, in `policy`: unknown key `Deny_Tools` => did you mean `deny_tools`?",
    );
    check(
        "[store]\nwarp = 9",
        "line 2, in `store`: unknown key `warp` => known keys: `path`, `url`",
    );
}

#[test]
fn a_value_of_the_wrong_type_is_located_but_never_quoted() {
    check(
        "[serve]\nbind = 7420",
        "line 2, in `serve.bind`: expected a string, found an integer",
    );
    check(
        "[serve]\npage_size = 'many'",
        "line 2, in `serve.page_size`: expected a whole number, found a string",
    );
    check(
        "servers = 3",
        "line 1, in `servers`: expected a table, found an integer",
    );
    check(
        "[servers]\ngit = 'git-mcp'",
        "line 2, in `servers.git`: expected a table, found a string",
    );
    check(
        "[servers]\ngit = ['git-mcp']",
        "line 2, in `servers.git`: expected a table, found an array",
    );
    check(
        "[servers.a]\nurl = 'http://a'\nheaders = 'Authorization: Bearer s3cret'",
        "line 3, in `servers.a.headers`: expected a table, found a string",
    );
    check(
        "[servers.a]\ncommand = 'a'\nenv = { PIN = 1234 }",
        "line 3, in `servers.a.env.PIN`: expected a string, found an integer",
    );
    check(
        "[servers.a]\nargs = ['x', 1]",
        "line 2, in `servers.a.args[1]`: expected a string, found an integer",
    );
    check(
        "[servers.a]\ncall_timeout = true",
        "line 2, in `servers.a.call_timeout`: expected a duration such as \"90s\" or \"10m\", or a number of seconds, \
         found a boolean",
    );
}

#[test]
fn text_that_is_not_toml_is_rejected_with_its_line() {
    check(
        "[serve]\n\nbind = ",
        "line 3: invalid TOML: string values must be quoted, expected literal string",
    );
}

#[test]
fn a_server_has_either_a_command_or_a_url() {
    check(
        "[servers.a]\ncommand = 'x'\nurl = 'http://x'",
        "line 1, in `servers.a`: both `command` and `url` are set => keep `command` to launch a program, \
         or `url` to reach a running server",
    );
    check(
        "[servers.a]\nenabled = false",
        "line 1, in `servers.a`: neither `command` nor `url` is set => set a `command` to launch, \
         or the `url` of a running server",
    );
    check(
        "[servers.a]\ncommand = 'x'\nheaders = {}",
        "line 3, in `servers.a`: `headers` does not apply to a server with a `command` => remove `headers`",
    );
    check(
        "[servers.a]\nurl = 'http://x'\nenv = {}",
        "line 3, in `servers.a`: `env` does not apply to a server with a `url` => remove `env`",
    );
}

#[test]
fn invalid_values_are_rejected() {
    check(
        "[serve]\nbind = 'everywhere'",
        "line 2, in `serve.bind`: `everywhere` is not a valid listen address => write an address and a port, \
         like \"127.0.0.1:7420\"",
    );
    check(
        "[serve]\nallowed_origins = ['app.example']",
        "line 2, in `serve.allowed_origins`: `app.example` is not a valid origin => write scheme and host, \
         like \"https://app.example\"",
    );
    check(
        "[telemetry]\notlp_endpoint = 'ftp://user:s3cret@host'",
        "line 2, in `telemetry.otlp_endpoint`: not a valid collector URL => write the part before \
         `/v1/traces`, like \"http://127.0.0.1:4318\"",
    );
    check(
        "[registry]\nurl = 'ftp://user:s3cret@host'",
        "line 2, in `registry.url`: not a valid registry URL => write the part before `/v0.1/servers`, like \
         \"https://host\"",
    );
    check(
        "[serve]\npage_size = 0",
        "line 2, in `serve.page_size`: expected a number of at least 1, found 0",
    );
    check(
        "[servers.a]\ncommand = 'x'\nera = 'modren'",
        "line 3, in `servers.a.era`: `modren` is not one of `auto`, `legacy`, `modern` => did you mean `modern`?",
    );
    check(
        "[servers.a]\ncommand = 'x'\nidle_timeout = '10 parsecs'",
        "line 3, in `servers.a.idle_timeout`: `10 parsecs` is not a valid duration => write it like \"90s\", \"10m\" \
         or \"1h30m\"",
    );
    check(
        "[servers.a]\nurl = 'ftp://user:s3cret@host'",
        "line 2, in `servers.a.url`: unsupported URL scheme `ftp:` => write it like \"https://host/mcp\"; \
         to launch a program, use `command`",
    );
    check(
        "[servers.a]\nurl = 'http://x'\nheaders = { 'X Key' = 's3cret' }",
        "line 3, in `servers.a.headers`: `X Key` is not a valid HTTP header name",
    );
}

#[test]
fn names_and_patterns_are_checked_on_reading() {
    check(
        "[servers.a__b]\ncommand = 'x'",
        "line 1, in `servers`: the server name `a__b` must not begin or end with `_` nor contain `__`: \
         that separates server and tool",
    );
    check(
        "[tenants.ACME]",
        "line 1, in `tenants`: `ACME` is not a tenant name: use 1 to 64 lower-case letters, digits, `-`, `_` or `.`",
    );
    check(
        "[tenants.acme]\ndeny_tools = ['*/ok', '*/[']",
        "line 2, in `tenants.acme.deny_tools`: `*/[` is not a pattern: unclosed character class; missing ']'",
    );
    check(
        "[policy]\nallow_tools = []",
        "line 2, in `policy.allow_tools`: an empty list is ambiguous: it could allow nothing or everything \
         => remove `allow_tools` to allow everything, or write `deny_tools = [\"*\"]` to allow nothing",
    );
}

#[test]
fn every_global_key_is_applied() {
    let config = config(WRITTEN_OUT).unwrap();
    assert_eq!(
        config.serve,
        Serve {
            bind: "127.0.0.1:9000".parse().unwrap(),
            require_key: true,
            allowed_hosts: vec!["kit.example".to_owned()],
            allowed_origins: vec!["https://app.example".to_owned()],
            max_body_bytes: 1_000_000,
            page_size: 50,
            access_log: true,
        }
    );
    assert_eq!(
        config.store,
        StoreLocation::File("/etc/state/kitbag.db".into())
    );
    assert_eq!(config.data_dir, Path::new("/home/ann/.local/share/kitbag"));
}

#[test]
fn every_key_of_a_server_is_applied() {
    let config = config(WRITTEN_OUT).unwrap();
    assert_eq!(
        config
            .servers
            .keys()
            .map(ServerName::as_str)
            .collect::<Vec<_>>(),
        ["git", "remote"]
    );
    assert_eq!(
        config
            .disabled
            .keys()
            .map(ServerName::as_str)
            .collect::<Vec<_>>(),
        ["old"]
    );

    let git = &config.servers[&"git".parse().unwrap()];
    assert_eq!(
        *git,
        ServerSpec {
            name: "git".parse().unwrap(),
            kind: ServerKind::External(Reach::Command(Launch {
                command: Template::from("uvx"),
                args: ["mcp-server-git", "--repository", "${REPO}"]
                    .map(Template::from)
                    .to_vec(),
                env: vec![("TOKEN".to_owned(), Template::from("${GIT_TOKEN:-none}"))],
                cwd: Some("/home/ann/src".into()),
            })),
            description: Some("the history of our code".to_owned()),
            oauth: Settings::default(),
            era: Some(Era::Legacy),
            limits: ServerLimits {
                start_timeout: Duration::from_secs(90),
                call_timeout: Duration::from_secs(5),
                call_deadline: Duration::from_secs(7200),
                idle_timeout: Duration::from_millis(500),
                max_concurrent: 1,
                max_queued: 0,
                max_message_bytes: 2048,
            },
        }
    );
    let endpoint = RemoteEndpoint {
        transport: RemoteTransport::Http,
        url: Template::from("https://host/mcp?key=1"),
        headers: vec![(
            "Authorization".to_owned(),
            Template::from("Bearer ${TOKEN}"),
        )],
    };
    assert_eq!(
        config.servers[&"remote".parse().unwrap()].endpoint(),
        Some(&endpoint)
    );
    let old = config.disabled[&"old".parse().unwrap()].endpoint();
    assert_eq!(old.unwrap().transport, RemoteTransport::Sse);
}

#[test]
fn every_rule_is_applied() {
    let config = config(WRITTEN_OUT).unwrap();
    let may = |tenant: &str, server: &str, tool: &str| {
        let caller = Caller {
            tenant: tenant.parse().unwrap(),
            ..Caller::local()
        };
        config
            .policy
            .is_visible(&caller, &Capability::tool(server.parse().unwrap(), tool))
    };
    assert!(
        may("acme", "git", "log")
            && !may("acme", "git", "delete_branch")
            && !may("acme", "remote", "log")
    );
}

const WRITTEN_OUT: &str = r#"
        [serve]
        bind = "localhost:9000"
        require_key = true
        allowed_hosts = ["kit.example"]
        allowed_origins = ["https://App.example/"]
        max_body_bytes = 1_000_000
        page_size = 50
        access_log = true

        [store]
        path = "state/kitbag.db"

        [policy]
        deny_tools = ["*/delete_*"]

        [tenants.acme]
        allow_servers = ["git"]

        [servers.git]
        command = "uvx"
        args = ["mcp-server-git", "--repository", "${REPO}"]
        env = { TOKEN = "${GIT_TOKEN:-none}" }
        cwd = "~/src"
        description = "the history of our code"
        era = "legacy"
        start_timeout = "1m30s"
        call_timeout = 5
        call_deadline = "2h"
        idle_timeout = "500ms"
        max_concurrent = 1
        max_queued = 0
        max_message_bytes = 2048

        [servers.remote]
        url = "https://host/mcp?key=1"
        headers = { Authorization = "Bearer ${TOKEN}" }

        [servers.old]
        url = "http://host/sse"
        transport = "sse"
        enabled = false
    "#;

#[test]
fn an_empty_configuration_is_the_defaults() {
    let config = config("").unwrap();
    assert_eq!(config.serve, Serve::default());
    assert_eq!(
        config.store,
        StoreLocation::File("/home/ann/.local/share/kitbag/kitbag.db".into())
    );
    let log = config.server_log_path(&"git".parse().unwrap());
    assert_eq!(log, Path::new("/home/ann/.local/share/kitbag/logs/git.log"));
}

#[test]
fn a_public_address_needs_a_key() {
    let guarded = |text: &str| config(text).unwrap().serve.check_exposure().is_ok();
    assert!(guarded("serve.bind = '127.0.0.1:1'") && guarded("serve.bind = '[::1]:1'"));
    assert!(!guarded("serve.bind = '0.0.0.0:1'") && !guarded("serve.bind = '[::]:1'"));
    assert!(guarded(
        "serve = { bind = '0.0.0.0:1', require_key = true }"
    ));
}

#[test]
fn the_users_file_is_read_and_flags_override_it() {
    let folder = tempfile::tempdir().unwrap();
    let write = |path: &str, page_size: u32| -> PathBuf {
        let path = folder.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(
            &path,
            format!("serve.page_size = {page_size}\nserve.bind = '127.0.0.1:1'"),
        )
        .unwrap();
        path
    };
    let environment = Environment {
        cwd: folder.path().join("here"),
        home: Some(folder.path().join("home")),
        ..Environment::default()
    };
    let mut at = ConfigSource {
        overrides: Overrides::default(),
        environment,
    };

    let user = folder.path().join("home/.config/kitbag/kitbag.toml");
    assert_eq!(
        (at.load().unwrap().origin, at.editable_file().unwrap()),
        (None, user.clone())
    );
    write("home/.config/kitbag/kitbag.toml", 1);
    assert_eq!(
        (
            at.load().unwrap().serve.page_size,
            at.load().unwrap().origin
        ),
        (1, Some(user.clone()))
    );
    write("here/kitbag.toml", 2);
    assert_eq!(
        (
            at.load().unwrap().serve.page_size,
            at.editable_file().unwrap()
        ),
        (1, user)
    );
    at.overrides.config = Some(write("elsewhere.toml", 3));
    at.overrides.bind = Some("127.0.0.1:2".parse().unwrap());
    at.overrides.data_dir = Some("data".into());
    let config = at.load().unwrap();
    assert_eq!((config.serve.page_size, config.serve.bind.port()), (3, 2));
    assert_eq!(
        config.store,
        StoreLocation::File(folder.path().join("here/data/kitbag.db"))
    );

    at.overrides.config = Some("missing.toml".into());
    assert!(matches!(at.load(), Err(ConfigError::Missing { .. })));
}
