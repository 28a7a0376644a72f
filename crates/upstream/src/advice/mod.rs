//! Advice for each cause, with the commands and configuration keys of the affected server.
//!
//! # Layout
//! - this file: the advice for each cause
//! - [`launched_server`]: advice that depends on how the server is launched
//! - [`install_command`]: the command that installs a missing launcher

mod install_command;
mod launched_server;

use kitbag_domain::ServerName;

use crate::cause::Cause;
use crate::spec::ServerSpec;
use launched_server::LaunchedServer;
pub(crate) use launched_server::strip_version;

impl Cause {
    /// Returns the advice for this server, with commands between backquotes. Not a `Remedy`,
    /// because a cause does not know its server; a `Diagnosis` does.
    pub fn advice_for(&self, spec: &ServerSpec) -> String {
        let Some(launch) = spec.launch() else {
            return self.advice_for_remote(&spec.name);
        };
        let case = LaunchedServer::new(spec, launch);
        let table = &case.table;
        match self {
            Self::MissingVariable { variable } => case.advise_on_variable(variable),
            Self::OldNode { needs, .. } => case.advise_newer_node(*needs),
            Self::NewMcpLibrary => case.advise_pinning("mcp<2"),
            Self::NewPydantic => case.advise_pinning("pydantic<2.12"),
            Self::MissingModule { module } => case.advise_reinstall(module.as_deref()),
            Self::MissingFile { path } => {
                format!("create {path}, or correct the path in `args` of {table}")
            }
            Self::NoSuchPackage { package } => case.advise_on_package(package.as_deref()),
            Self::NotAProgram { .. } => case.advise_program_in_package(),
            Self::NotFound { command } => case.advise_on_command(command),
            Self::NotExecutable { path } => format!("run `chmod +x {}`", path.display()),
            Self::NoInterpreter { interpreter, .. } => {
                format!(
                    "install `{interpreter}`, or set `command` of {table} to an interpreter you have"
                )
            }
            Self::NoFolder { path } => {
                format!(
                    "run `mkdir -p {}`, or correct `cwd` of {table}",
                    path.display()
                )
            }
            Self::WrongArguments { .. } => {
                format!(
                    "correct `args` of {table}; `{} --help` lists the valid arguments",
                    case.manual_command()
                )
            }
            Self::NoNetwork { .. } => case.advise_on_network(),
            Self::Untrusted => case.advise_on_certificate(),
            Self::ServiceDown { address } => case.advise_on_service(address.as_deref()),
            Self::PortTaken { port } => case.advise_on_port(*port),
            Self::Forbidden { path } => case.advise_on_access(path.as_deref()),
            Self::BadCredentials => format!("check the keys in `env` of {table}"),
            Self::LoginNeeded => login_advice(&spec.name),
            Self::OwnLogin { .. } => format!(
                "log in once by hand: run `{}` in a terminal",
                case.manual_command()
            ),
            Self::ServesHttp { url } => case.advise_stdio(url.as_deref()),
            Self::NotMcp => format!(
                "check `command` and `args` of {table}: the program does not speak MCP on stdin and stdout"
            ),
            Self::Silent | Self::Unreachable => format!(
                "run `{}` by hand to see what it waits for; if it is only slow, raise `start_timeout` of {table}",
                case.manual_command()
            ),
            Self::Retired => {
                format!(
                    "look for its replacement; until then disable it: `enabled = false` in {table}"
                )
            }
        }
    }

    /// Returns the advice for a remote server.
    pub(crate) fn advice_for_remote(&self, server: &ServerName) -> String {
        let table = format!("[servers.{server}]");
        match self {
            Self::MissingVariable { variable } => format!("run `export {variable}=…`"),
            Self::LoginNeeded => login_advice(server),
            Self::BadCredentials => format!("check the `headers` of {table}"),
            Self::NotMcp => format!("check the `url` of {table}; many servers answer at /mcp"),
            Self::NoNetwork { .. } => {
                format!("check the connection, and the host in the `url` of {table}")
            }
            Self::Untrusted => {
                "if your proxy re-signs TLS traffic, add its certificate to this machine's trusted certificates"
                    .to_owned()
            }
            Self::Silent => format!("if it is only slow, raise `start_timeout` of {table}"),
            _ => format!("check that it is running, and check the address in {table}"),
        }
    }
}

fn login_advice(server: &ServerName) -> String {
    format!("run `kitbag servers login {server}`")
}

#[cfg(test)]
mod tests {
    use kitbag_domain::{Launch, Reach, Template};

    use super::*;
    use crate::oauth;
    use crate::spec::{ServerKind, ServerLimits};

    fn spec(command: &str, args: &[&str], env: &[&str]) -> ServerSpec {
        let launch = Launch {
            command: Template::new(command),
            args: args.iter().map(|word| Template::new(*word)).collect(),
            env: env
                .iter()
                .map(|name| ((*name).to_owned(), Template::new("s3cret")))
                .collect(),
            cwd: None,
        };
        ServerSpec {
            name: "notes".parse().unwrap(),
            kind: ServerKind::External(Reach::Command(launch)),
            description: None,
            oauth: oauth::Settings::default(),
            era: None,
            limits: ServerLimits::default(),
        }
    }

    #[track_caller]
    fn check(cause: &Cause, spec: &ServerSpec, expected: &str) {
        let advice = cause.advice_for(spec);
        assert!(
            advice.contains(expected) && !advice.contains("s3cret"),
            "{advice}"
        );
    }

    #[test]
    fn a_pin_comes_with_the_whole_command_unless_that_loses_or_shows_something() {
        let pin = &Cause::NewMcpLibrary;
        let line = "`kitbag servers add notes --force -- uvx --with 'mcp<2' mcp-notes --verbose`";
        check(pin, &spec("uvx", &["mcp-notes", "--verbose"], &[]), line);
        let key = "add `\"--with\", \"mcp<2\"` at the start of `args` of [servers.notes]";
        check(
            pin,
            &spec("uvx", &["mcp-notes", "--key", "s3cret"], &[]),
            key,
        );
        check(pin, &spec("uvx", &["mcp-notes", "--key=s3cret"], &[]), key);
        check(pin, &spec("uvx", &["mcp-notes"], &["TOKEN"]), key);
        check(
            pin,
            &spec("python3.11", &["notes.py"], &[]),
            "`python3.11 -m pip install 'mcp<2'`",
        );
    }

    #[test]
    fn a_program_that_is_missing_is_looked_for_where_it_was_named() {
        let named = |command: &str| Cause::NotFound {
            command: command.to_owned(),
        };
        let path = named("C:\\tools\\notes.exe");
        check(
            &path,
            &spec("C:\\tools\\notes.exe", &[], &[]),
            "set `command` of [servers.notes]",
        );
        assert_eq!(path.to_string(), "program `C:\\tools\\notes.exe` not found");
        check(
            &named("no-such"),
            &spec("no-such", &[], &[]),
            "installed and on the PATH of this process",
        );
        assert_eq!(
            named("no-such").to_string(),
            "program `no-such` not found on the PATH of this process"
        );
    }

    #[test]
    fn a_package_that_is_missing_is_corrected_only_where_it_was_named() {
        let missing = |package: &str| Cause::NoSuchPackage {
            package: Some(package.to_owned()),
        };
        let own = spec("npx", &["-y", "@acme/notes@9"], &[]);
        check(
            &missing("@acme/notes"),
            &own,
            "correct `@acme/notes` in `args` of [servers.notes]",
        );
        check(
            &missing("pdf2md"),
            &own,
            "`@acme/notes` depends on `pdf2md`",
        );
        check(
            &missing("notes"),
            &spec("uvx", &["notes==9"], &[]),
            "correct `notes` in `args`",
        );
    }

    #[test]
    fn a_variable_is_set_or_corrected() {
        let cause = &Cause::MissingVariable {
            variable: "API_KEY".to_owned(),
        };
        check(
            cause,
            &spec("notes", &[], &[]),
            "`env = { API_KEY = \"${secret:API_KEY}\" }`",
        );
        check(
            cause,
            &spec("notes", &[], &["API_KEY"]),
            "check the value of `API_KEY` in `env`",
        );
    }
}
