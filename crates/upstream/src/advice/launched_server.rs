//! Advice about a server that is launched on this machine.

use std::env;
use std::path::Path;

use kitbag_domain::{Launch, Template};

use super::install_command::install_advice;
use crate::programs;
use crate::spec::{ServerLimits, ServerSpec};

/// A server that is launched on this machine.
pub(super) struct LaunchedServer<'a> {
    spec: &'a ServerSpec,
    launch: &'a Launch<Template>,
    /// The configuration table that describes it.
    pub(super) table: String,
}

impl<'a> LaunchedServer<'a> {
    pub(super) fn new(spec: &'a ServerSpec, launch: &'a Launch<Template>) -> Self {
        Self {
            spec,
            launch,
            table: format!("[servers.{}]", spec.name),
        }
    }

    fn command(&self) -> &str {
        self.launch.command.source()
    }

    pub(super) fn advise_on_service(&self, address: Option<&str>) -> String {
        let table = &self.table;
        match address {
            Some("Docker") => "start Docker".to_owned(),
            Some(address) => format!(
                "start the service at {address}, or correct the address in `env` or `args` of {table}"
            ),
            None => format!(
                "start the service it needs, or correct its address in `env` or `args` of {table}"
            ),
        }
    }

    pub(super) fn advise_on_port(&self, port: Option<u16>) -> String {
        let port = port.map_or("PORT".to_owned(), |port| port.to_string());
        format!(
            "find the process that uses it with `lsof -i :{port}`, then stop it or choose another port in {}",
            self.table
        )
    }

    pub(super) fn advise_on_access(&self, path: Option<&str>) -> String {
        let path = path.map(|path| format!(" to {path}"));
        format!(
            "give your user access{}, or set another path in `args` or `env` of {}",
            path.unwrap_or_default(),
            self.table
        )
    }

    pub(super) fn advise_on_certificate(&self) -> String {
        let variable = match self.is_node() {
            true => "NODE_EXTRA_CA_CERTS",
            false => "SSL_CERT_FILE",
        };
        format!(
            "if your proxy re-signs TLS traffic, set its certificate: `env = {{ {variable} = \"/path/to/ca.pem\" }}` in {}",
            self.table
        )
    }

    pub(super) fn advise_on_variable(&self, variable: &str) -> String {
        let table = &self.table;
        if self.launch.sets_variable(variable) {
            return format!(
                "check the value of `{variable}` in `env` of {table}: the server does not accept it"
            );
        }
        format!(
            "set `{variable}` in {table}: `env = {{ {variable} = \"${{secret:{variable}}}\" }}`, and store its value with \
             `kitbag secret set {variable}`"
        )
    }

    pub(super) fn advise_newer_node(&self, needs: u32) -> String {
        let table = &self.table;
        if let Some(folder) = programs::find_newer_node(needs) {
            return format!(
                "use the one in {}: {}",
                folder.display(),
                self.advise_path(&folder)
            );
        }
        let here = programs::find_on_path("node")
            .map(|path| format!(" (`node` is {} now)", path.display()));
        format!(
            "install Node.js {needs} or later{}, or put its path in `command` of {table}",
            here.unwrap_or_default()
        )
    }

    /// Advises an older library for this server only.
    pub(super) fn advise_pinning(&self, pin: &str) -> String {
        let table = &self.table;
        match self.runner() {
            "uvx" => match self.add_command(&["--with", &format!("'{pin}'")]) {
                Some(line) => format!("run `{line}`"),
                None => format!("add `\"--with\", \"{pin}\"` at the start of `args` of {table}"),
            },
            "uv" => format!("add `\"--with\", \"{pin}\"` after \"run\" in `args` of {table}"),
            "pipx" => format!(
                "run `pipx inject {} '{pin}'`",
                self.spec.package().unwrap_or("PACKAGE")
            ),
            _ => format!("run `{} -m pip install '{pin}'`", self.python_command()),
        }
    }

    pub(super) fn advise_reinstall(&self, module: Option<&str>) -> String {
        match (self.runner(), self.spec.package(), module) {
            ("npx", ..) => "reinstall it: run `rm -r ~/.npm/_npx`, and try again".to_owned(),
            ("uvx", Some(package), _) => {
                format!("reinstall it: run `uvx --refresh {package} --help`")
            }
            (_, _, Some(module)) if !self.is_node() => {
                format!("run `{} -m pip install {module}`", self.python_command())
            }
            _ => format!(
                "install its dependencies in its folder, for example with `npm install`, and check {}",
                self.table
            ),
        }
    }

    pub(super) fn advise_on_package(&self, package: Option<&str>) -> String {
        let table = &self.table;
        let own = self.spec.package().map(strip_version);
        if let (Some(package), Some(own)) = (package, &own)
            && package != own
        {
            return format!(
                "`{own}` depends on `{package}`, in a version that does not exist: set another version of \
                 `{own}` in `args` of {table}, or report it to its author"
            );
        }
        let name = package.or(own.as_deref()).unwrap_or("its name");
        let look = match self.runner() {
            "npx" | "bunx" | "pnpx" => format!("check that it exists with `npm view {name}`"),
            _ => format!("check that it exists with `pip index versions {name}`"),
        };
        format!("correct `{name}` in `args` of {table}; {look}")
    }

    pub(super) fn advise_program_in_package(&self) -> String {
        let (table, package) = (&self.table, self.spec.package().unwrap_or("PACKAGE"));
        match self.runner() {
            "uvx" => {
                format!(
                    "name both the package and the program: `args = [\"--from\", \"{package}\", \"PROGRAM\"]` in {table}"
                )
            }
            _ => {
                format!(
                    "name both the package and the program: `args = [\"-y\", \"--package\", \"{package}\", \"PROGRAM\"]` in {table}"
                )
            }
        }
    }

    pub(super) fn advise_on_command(&self, command: &str) -> String {
        let table = &self.table;
        let own = self.command() == command;
        match programs::find_off_path(command).filter(|_| programs::find_on_path(command).is_none())
        {
            Some(path) if own && !programs::uses_env_shebang(&path) => {
                format!(
                    "it is at {0}: write `command = \"{0}\"` in {table}",
                    path.display()
                )
            }
            Some(path) => {
                let folder = path.parent().unwrap_or(Path::new("/"));
                format!("it is at {}: {}", path.display(), self.advise_path(folder))
            }
            None if programs::is_path(command) => {
                format!("set `command` of {table} to a program on this machine")
            }
            None => install_advice(command).unwrap_or_else(|| {
                format!("check that `{command}` is installed and on the PATH of this process")
            }),
        }
    }

    pub(super) fn advise_on_network(&self) -> String {
        // A server does not inherit a proxy from the environment unless it is configured.
        let proxy = ["HTTPS_PROXY", "https_proxy", "HTTP_PROXY"]
            .into_iter()
            .find(|name| env::var_os(name).is_some());
        match proxy.filter(|name| !self.launch.sets_variable(name)) {
            Some(proxy) => format!(
                "pass it the proxy: `env = {{ {proxy} = \"${{{proxy}}}\" }}` in {}; and check the connection",
                self.table
            ),
            None => "check the connection of this machine to the network, or its proxy".to_owned(),
        }
    }

    pub(super) fn advise_stdio(&self, url: Option<&str>) -> String {
        let url = url.unwrap_or("http://127.0.0.1:PORT").trim_end_matches('/');
        format!(
            "make it use stdin and stdout, often with \"--stdio\" or \"--transport\", \"stdio\" in `args` of {}; or \
             start it yourself and run `kitbag servers add {} --force {url}/mcp`",
            self.table, self.spec.name
        )
    }

    fn advise_path(&self, folder: &Path) -> String {
        format!(
            "write `env = {{ PATH = \"{}:${{PATH}}\" }}` in {}",
            folder.display(),
            self.table
        )
    }

    /// Returns the command that adds the server again with `first` at the front of its command
    /// line, or `None` if that would lose a setting or show an argument that may be secret.
    fn add_command(&self, first: &[&str]) -> Option<String> {
        let words: Vec<&str> = self.launch.args.iter().map(Template::source).collect();
        if !self.has_only_defaults() || !words.iter().all(|word| self.is_harmless(word)) {
            return None;
        }
        let line = [&[self.command()], first, &words].concat().join(" ");
        Some(format!(
            "kitbag servers add {} --force -- {line}",
            self.spec.name
        ))
    }

    fn has_only_defaults(&self) -> bool {
        self.launch.env.is_empty()
            && self.launch.cwd.is_none()
            && self.spec.era.is_none()
            && self.spec.limits == ServerLimits::default()
    }

    /// True for an argument that cannot be a secret: the package, or a flag without a value.
    fn is_harmless(&self, word: &str) -> bool {
        Some(word) == self.spec.package()
            || (word.starts_with('-') && !word.contains(['=', '$', '\'', ' ']))
    }

    /// Returns the command to start it by hand, without arguments that may be secret.
    pub(super) fn manual_command(&self) -> String {
        match self.spec.package() {
            Some(package) if self.runner() == "npx" => {
                format!("{} -y {package}", self.command())
            }
            Some(package) => format!("{} {package}", self.command()),
            None => self.command().to_owned(),
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

    /// Returns the Python that runs it: its own, if it is installed in a virtual environment.
    fn python_command(&self) -> String {
        let beside = Path::new(self.command()).with_file_name("python");
        if beside.is_absolute() && programs::is_program(&beside) {
            return beside.display().to_string();
        }
        if self.runner().starts_with("python") {
            self.command().to_owned()
        } else {
            "python3".to_owned()
        }
    }
}

/// Returns a package without its version: `@acme/notes` for `@acme/notes@1.2`, `notes` for `notes==1.2`.
pub(crate) fn strip_version(package: &str) -> String {
    let end = package
        .char_indices()
        .skip(1)
        .find(|(_, c)| matches!(c, '@' | '=' | '<' | '>' | '[' | '~'));
    package[..end.map_or(package.len(), |(at, _)| at)].to_owned()
}
