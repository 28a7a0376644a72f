//! What a person can do about each cause, with the commands and keys of the server it is about.

use std::env;
use std::path::Path;

use kitbag_domain::{Launch, ServerName, Template};

use crate::cause::Cause;
use crate::programs;
use crate::spec::{ServerLimits, ServerSpec};

impl Cause {
    /// What helps in the case of this server. Commands stand between backquotes.
    pub fn remedy(&self, spec: &ServerSpec) -> String {
        let Some(launch) = spec.launch() else {
            return self.remedy_from_afar(&spec.name);
        };
        let case = Case {
            spec,
            launch,
            table: format!("[servers.{}]", spec.name),
        };
        let Case { table, .. } = &case;
        match self {
            Self::MissingVariable { variable } => case.variable(variable),
            Self::OldNode { needs, .. } => case.newer_node(*needs),
            Self::NewMcpLibrary => case.pinned("mcp<2"),
            Self::NewPydantic => case.pinned("pydantic<2.12"),
            Self::MissingModule { module } => case.installed_again(module.as_deref()),
            Self::MissingFile { path } => {
                format!("put {path} there, or correct the path in `args` of {table}")
            }
            Self::NoSuchPackage { package } => case.package(package.as_deref()),
            Self::NotAProgram { .. } => case.program_in_package(),
            Self::NotFound { command } => case.found(command),
            Self::NotExecutable { path } => format!("run `chmod +x {}`", path.display()),
            Self::NoInterpreter { interpreter, .. } => {
                format!(
                    "install `{interpreter}`, or write the interpreter you have into `command` of {table}"
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
                    "correct `args` of {table}; `{} --help` says what it takes",
                    case.by_hand()
                )
            }
            Self::NoNetwork { .. } => case.network(),
            Self::Untrusted => format!(
                "if a proxy of yours signs anew, name its certificate: `env = {{ {} = \"/path/to/ca.pem\" }}` in {table}",
                if case.is_node() {
                    "NODE_EXTRA_CA_CERTS"
                } else {
                    "SSL_CERT_FILE"
                }
            ),
            Self::ServiceDown { address } => match address.as_deref() {
                Some("Docker") => "start Docker".to_owned(),
                Some(address) => {
                    format!(
                        "start what should answer at {address}, or correct the address in `env` or `args` of {table}"
                    )
                }
                None => format!(
                    "start the service it needs, or correct its address in `env` or `args` of {table}"
                ),
            },
            Self::PortTaken { port } => {
                let port = port.map_or("PORT".to_owned(), |port| port.to_string());
                format!(
                    "see who has it with `lsof -i :{port}`, and stop that or choose another port in {table}"
                )
            }
            Self::Forbidden { path } => format!(
                "give this user access{}, or name another place in `args` or `env` of {table}",
                path.as_ref()
                    .map(|path| format!(" to {path}"))
                    .unwrap_or_default()
            ),
            Self::BadCredentials => format!("check the keys in `env` of {table}"),
            Self::LoginNeeded => login(&spec.name),
            Self::OwnLogin { .. } => format!(
                "log in once by hand: run `{}` in a terminal",
                case.by_hand()
            ),
            Self::ServesHttp { url } => case.address(url.as_deref()),
            Self::NotMcp => format!(
                "check `command` and `args` of {table}: what they start does not speak MCP on stdin and stdout"
            ),
            Self::Silent | Self::Unreachable => format!(
                "see what it waits for: run `{}` by hand; if it is only slow, raise `start_timeout` of {table}",
                case.by_hand()
            ),
            Self::Retired => {
                format!(
                    "look for its successor; until then switch it off: `enabled = false` in {table}"
                )
            }
        }
    }

    /// For a server that others run.
    pub(crate) fn remedy_from_afar(&self, server: &ServerName) -> String {
        let table = format!("[servers.{server}]");
        match self {
            Self::MissingVariable { variable } => format!("run `export {variable}=…`"),
            Self::LoginNeeded => login(server),
            Self::BadCredentials => format!("check what `headers` of {table} send"),
            Self::NotMcp => format!("check the `url` of {table}; many servers answer at /mcp"),
            Self::NoNetwork { .. } => {
                format!("check the connection, and the host in the `url` of {table}")
            }
            Self::Untrusted => {
                "if a proxy of yours signs anew, add its certificate to those of this machine"
                    .to_owned()
            }
            Self::Silent => format!("if it is only slow, raise `start_timeout` of {table}"),
            _ => format!("check that it is running, and the address in {table}"),
        }
    }
}

fn login(server: &ServerName) -> String {
    format!("run `kitbag servers login {server}`")
}

/// A server that is launched here.
struct Case<'a> {
    spec: &'a ServerSpec,
    launch: &'a Launch<Template>,
    /// The table of the configuration it stands in.
    table: String,
}

impl Case<'_> {
    fn variable(&self, variable: &str) -> String {
        let table = &self.table;
        if self.launch.sets_variable(variable) {
            return format!(
                "check the value of `{variable}` in `env` of {table}: the server does not take it"
            );
        }
        format!(
            "set `{variable}` in {table}: `env = {{ {variable} = \"${{secret:{variable}}}\" }}`, and keep its value with \
             `kitbag secret set {variable}`"
        )
    }

    fn newer_node(&self, needs: u32) -> String {
        let table = &self.table;
        if let Some(folder) = programs::newer_node(needs) {
            return format!(
                "use the one in {}: {}",
                folder.display(),
                self.with_path(&folder)
            );
        }
        let here =
            programs::on_path("node").map(|path| format!(" (`node` is {} now)", path.display()));
        format!(
            "install Node.js {needs} or later{}, or write its path into `command` of {table}",
            here.unwrap_or_default()
        )
    }

    /// An older library for this server alone.
    fn pinned(&self, pin: &str) -> String {
        let table = &self.table;
        match self.runner() {
            "uvx" => match self.retold(&["--with", &format!("'{pin}'")]) {
                Some(line) => format!("run `{line}`"),
                None => format!("put `\"--with\", \"{pin}\"` first into `args` of {table}"),
            },
            "uv" => format!("put `\"--with\", \"{pin}\"` after \"run\" into `args` of {table}"),
            "pipx" => format!(
                "run `pipx inject {} '{pin}'`",
                self.spec.package().unwrap_or("PACKAGE")
            ),
            _ => format!("run `{} -m pip install '{pin}'`", self.python()),
        }
    }

    fn installed_again(&self, module: Option<&str>) -> String {
        match (self.runner(), self.spec.package(), module) {
            ("npx", ..) => {
                "have it installed anew: run `rm -r ~/.npm/_npx`, and try again".to_owned()
            }
            ("uvx", Some(package), _) => {
                format!("have it installed anew: run `uvx --refresh {package} --help`")
            }
            (_, _, Some(module)) if !self.is_node() => {
                format!("run `{} -m pip install {module}`", self.python())
            }
            _ => format!(
                "install its packages where it lies, with `npm install` or the like, and see {}",
                self.table
            ),
        }
    }

    fn package(&self, package: Option<&str>) -> String {
        let table = &self.table;
        let own = self.spec.package().map(unversioned);
        if let (Some(package), Some(own)) = (package, &own)
            && package != own
        {
            return format!(
                "`{own}` depends on `{package}`, which is not there in the version it wants: name another version of \
                 `{own}` in `args` of {table}, or tell its author"
            );
        }
        let name = package.or(own.as_deref()).unwrap_or("its name");
        let look = match self.runner() {
            "npx" | "bunx" | "pnpx" => format!("see whether it is there with `npm view {name}`"),
            _ => format!("see whether it is there with `pip index versions {name}`"),
        };
        format!("correct `{name}` in `args` of {table}; {look}")
    }

    fn program_in_package(&self) -> String {
        let (table, package) = (&self.table, self.spec.package().unwrap_or("PACKAGE"));
        match self.runner() {
            "uvx" => {
                format!("name both: `args = [\"--from\", \"{package}\", \"PROGRAM\"]` in {table}")
            }
            _ => {
                format!(
                    "name both: `args = [\"-y\", \"--package\", \"{package}\", \"PROGRAM\"]` in {table}"
                )
            }
        }
    }

    fn found(&self, command: &str) -> String {
        let table = &self.table;
        let own = self.launch.command.source() == command;
        match programs::elsewhere(command).filter(|_| programs::on_path(command).is_none()) {
            Some(path) if own && !programs::looks_on_path(&path) => {
                format!(
                    "it is at {0}: write `command = \"{0}\"` in {table}",
                    path.display()
                )
            }
            Some(path) => {
                let folder = path.parent().unwrap_or(Path::new("/"));
                format!("it is at {}: {}", path.display(), self.with_path(folder))
            }
            None if programs::is_path(command) => {
                format!("name the program as it is on this machine under `command` in {table}")
            }
            None => format!(
                "check that `{command}` is installed and on the PATH of this process{}",
                installing(command)
                    .map(|how| format!("; {how}"))
                    .unwrap_or_default()
            ),
        }
    }

    fn network(&self) -> String {
        // A server is told nothing of our environment that was not configured.
        let proxy = ["HTTPS_PROXY", "https_proxy", "HTTP_PROXY"]
            .into_iter()
            .find(|name| env::var_os(name).is_some());
        match proxy.filter(|name| !self.launch.sets_variable(name)) {
            Some(proxy) => format!(
                "let it know the proxy: `env = {{ {proxy} = \"${{{proxy}}}\" }}` in {}; and check the connection",
                self.table
            ),
            None => "check the connection of this machine to the network, or its proxy".to_owned(),
        }
    }

    fn address(&self, url: Option<&str>) -> String {
        let url = url.unwrap_or("http://127.0.0.1:PORT").trim_end_matches('/');
        format!(
            "let it speak on stdin and stdout, often with \"--stdio\" or \"--transport\", \"stdio\" in `args` of {}; or \
             start it by yourself and run `kitbag servers add {} --force {url}/mcp`",
            self.table, self.spec.name
        )
    }

    fn with_path(&self, folder: &Path) -> String {
        format!(
            "write `env = {{ PATH = \"{}:${{PATH}}\" }}` in {}",
            folder.display(),
            self.table
        )
    }

    /// The command that adds it anew, with these words first; none where that would lose a
    /// setting, or show an argument that may be a secret.
    fn retold(&self, first: &[&str]) -> Option<String> {
        let Launch {
            command,
            args,
            env,
            cwd,
        } = self.launch;
        let package = self.spec.package();
        let harmless = |word: &str| {
            Some(word) == package
                || (word.starts_with('-') && !word.contains(['=', '$', '\'', ' ']))
        };
        let plain = env.is_empty()
            && cwd.is_none()
            && self.spec.era.is_none()
            && self.spec.limits == ServerLimits::default();
        let words: Vec<&str> = args.iter().map(Template::source).collect();
        (plain && words.iter().all(|word| harmless(word))).then(|| {
            let line = [&[command.source()], first, &words].concat().join(" ");
            format!("kitbag servers add {} --force -- {line}", self.spec.name)
        })
    }

    /// How a person would start it, without arguments that may be secret.
    fn by_hand(&self) -> String {
        match self.spec.package() {
            Some(package) if self.runner() == "npx" => {
                format!("{} -y {package}", self.launch.command.source())
            }
            Some(package) => format!("{} {package}", self.launch.command.source()),
            None => self.launch.command.source().to_owned(),
        }
    }

    fn runner(&self) -> &str {
        self.launch
            .command
            .source()
            .rsplit('/')
            .next()
            .unwrap_or_default()
    }

    fn is_node(&self) -> bool {
        matches!(
            self.runner(),
            "node" | "npx" | "npm" | "bun" | "bunx" | "pnpx" | "pnpm" | "yarn"
        )
    }

    /// The Python that runs it: its own, where it lies in an environment.
    fn python(&self) -> String {
        let beside = Path::new(self.launch.command.source()).with_file_name("python");
        if beside.is_absolute() && programs::is_program(&beside) {
            return beside.display().to_string();
        }
        if self.runner().starts_with("python") {
            self.launch.command.source().to_owned()
        } else {
            "python3".to_owned()
        }
    }
}

/// A package without its version: `@acme/notes` for `@acme/notes@1.2`, `notes` for `notes==1.2`.
pub(crate) fn unversioned(package: &str) -> String {
    let end = package
        .char_indices()
        .skip(1)
        .find(|(_, c)| matches!(c, '@' | '=' | '<' | '>' | '[' | '~'));
    package[..end.map_or(package.len(), |(at, _)| at)].to_owned()
}

fn installing(command: &str) -> Option<String> {
    Some(match command {
        "node" | "npx" | "npm" => format!(
            "get Node.js {} or later from https://nodejs.org",
            programs::NODE
        ),
        "uv" | "uvx" => "get uv from https://docs.astral.sh/uv".to_owned(),
        "docker" => "get Docker from https://docs.docker.com/get-docker".to_owned(),
        "bun" | "bunx" => "get Bun from https://bun.sh".to_owned(),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use kitbag_domain::Reach;

    use super::*;
    use crate::oauth;
    use crate::spec::ServerKind;

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
            oauth: oauth::Settings::default(),
            era: None,
            limits: ServerLimits::default(),
        }
    }

    #[track_caller]
    fn check(cause: &Cause, spec: &ServerSpec, expected: &str) {
        let told = cause.remedy(spec);
        assert!(
            told.contains(expected) && !told.contains("s3cret"),
            "{told}"
        );
    }

    #[test]
    fn a_pin_is_told_with_the_whole_command_unless_that_loses_or_shows_something() {
        let pin = &Cause::NewMcpLibrary;
        let line = "`kitbag servers add notes --force -- uvx --with 'mcp<2' mcp-notes --verbose`";
        check(pin, &spec("uvx", &["mcp-notes", "--verbose"], &[]), line);
        let key = "put `\"--with\", \"mcp<2\"` first into `args` of [servers.notes]";
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
            "under `command` in [servers.notes]",
        );
        assert_eq!(
            path.to_string(),
            "there is no program `C:\\tools\\notes.exe`"
        );
        check(
            &named("no-such"),
            &spec("no-such", &[], &[]),
            "installed and on the PATH of this process",
        );
        assert_eq!(
            named("no-such").to_string(),
            "there is no program `no-such` on the PATH of this process"
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
