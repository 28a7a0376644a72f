//! A project's `kitbag.toml`: servers for one directory, added to the user's configuration while
//! its text is exactly what the user trusted.
//!
//! A project file comes with the directory, so the user did not write it. It can only add servers,
//! never replaces one of the user's servers, and gets a secret or variable only if the user granted
//! that one.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use kitbag_domain::{Reach, ServerName};
use kitbag_upstream::{ServerKind, ServerSpec};

use super::error::{ConfigError, Fault, Problem};
use super::load::{BaseDirs, ConfigSource};
use super::trust::{Trust, TrustFile};
use super::{Config, build, raw};

/// The state of a project file, and the part of it that is active.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Project {
    #[default]
    None,
    /// The user never trusted the file.
    Untrusted { path: PathBuf },
    /// The file changed after the user trusted it.
    Changed { path: PathBuf },
    /// The file or the record of trust cannot be read.
    Unusable { path: PathBuf, reason: String },
    Active {
        path: PathBuf,
        servers: BTreeSet<ServerName>,
        skipped: Vec<SkippedServer>,
    },
}

/// A server of a trusted project that is not active.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SkippedServer {
    pub server: ServerName,
    pub reason: Obstacle,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Obstacle {
    #[error("you already have a server or provider with that name")]
    NameTaken,
    #[error("it needs {}, which was not granted", describe_variable(variable))]
    NotGranted { variable: String },
}

/// A parsed project file, which contains only servers.
#[derive(Debug)]
pub struct ProjectFile {
    pub hash: String,
    pub servers: Vec<ServerSpec>,
    pub disabled: Vec<ServerSpec>,
}

impl Project {
    pub fn path(&self) -> Option<&Path> {
        match self {
            Self::None => None,
            Self::Untrusted { path }
            | Self::Changed { path }
            | Self::Unusable { path, .. }
            | Self::Active { path, .. } => Some(path),
        }
    }

    /// Returns the path of the file if its servers are active.
    pub fn active_path(&self) -> Option<&Path> {
        match self {
            Self::Active { path, .. } => Some(path),
            _ => None,
        }
    }

    /// Returns notices about the file for the user, each as a sentence and its remedy.
    pub fn notices(&self) -> Vec<(String, String)> {
        match self {
            Self::None => Vec::new(),
            Self::Untrusted { path } => {
                let why = "you have not trusted it";
                vec![inactive_notice(path, why, trust_advice(path))]
            }
            Self::Changed { path } => {
                let why = "it has changed since you trusted it";
                vec![inactive_notice(path, why, trust_advice(path))]
            }
            Self::Unusable { path, reason } => {
                let advice = "fix it, then trust it again with `kitbag trust`";
                vec![inactive_notice(path, reason, advice.to_owned())]
            }
            Self::Active { path, skipped, .. } => {
                skipped.iter().map(|it| it.to_notice(path)).collect()
            }
        }
    }
}

fn inactive_notice(path: &Path, why: &str, advice: String) -> (String, String) {
    (format!("{} is not active: {why}", path.display()), advice)
}

fn trust_advice(path: &Path) -> String {
    format!(
        "review what it would run, then decide: kitbag trust {}",
        path.display()
    )
}

impl SkippedServer {
    fn to_notice(&self, path: &Path) -> (String, String) {
        let what = format!(
            "`{}` of {} is skipped: {}",
            self.server,
            path.display(),
            self.reason
        );
        let remedy = match &self.reason {
            Obstacle::NameTaken => "give one of the two another name".to_owned(),
            Obstacle::NotGranted { variable } => {
                format!(
                    "to grant it: kitbag trust {} {}",
                    path.display(),
                    grant_flag(variable)
                )
            }
        };
        (what, remedy)
    }
}

impl ProjectFile {
    pub fn load(path: &Path, at: &ConfigSource) -> Result<Self, ConfigError> {
        let text = super::load::read_config_file(path)?;
        Self::parse(&text, path, at)
    }

    fn parse(text: &str, path: &Path, at: &ConfigSource) -> Result<Self, ConfigError> {
        let folder = path.parent().unwrap_or(Path::new("/")).to_owned();
        let base_dirs = BaseDirs {
            data_dir: at.data_dir()?,
            base: folder.clone(),
            home: at.environment.home.clone(),
        };
        let built = check_only_servers(text)
            .and_then(|()| raw::parse_raw(text))
            .and_then(|raw| build::build(raw, &base_dirs));
        let config = built.map_err(|fault| fault.into_error(text, Some(path)))?;
        // A project's servers run in its directory, wherever the gateway was started.
        let in_folder = |mut spec: ServerSpec| {
            if let ServerKind::External(Reach::Command(launch)) = &mut spec.kind {
                launch.cwd.get_or_insert_with(|| folder.clone());
            }
            spec
        };
        Ok(Self {
            hash: Trust::hash_text(text),
            servers: config.servers.into_values().map(in_folder).collect(),
            disabled: config.disabled.into_values().map(in_folder).collect(),
        })
    }

    /// Returns the user's secrets and variables that the servers of the file need.
    pub fn required_variables(&self) -> BTreeSet<String> {
        self.servers
            .iter()
            .chain(&self.disabled)
            .flat_map(ServerSpec::variables)
            .collect()
    }
}

/// Adds the project's trusted servers to the user's configuration.
pub(super) fn add_project_servers(config: &mut Config, at: &ConfigSource) {
    let Some(path) = at.project_file() else {
        return;
    };
    config.project = match apply_project(&path, config, at) {
        Ok(project) => project,
        Err(reason) => Project::Unusable { path, reason },
    };
}

fn apply_project(path: &Path, config: &mut Config, at: &ConfigSource) -> Result<Project, String> {
    let trusted = TrustFile::in_data_dir(&config.data_dir)
        .find(path)
        .map_err(|error| error.to_string())?;
    let path = path.to_owned();
    let Some(trust) = trusted else {
        return Ok(Project::Untrusted { path });
    };
    // The file is read once, so that the hashed text is the parsed text.
    let text = super::load::read_config_file(&path).map_err(|error| error.to_string())?;
    if Trust::hash_text(&text) != trust.hash {
        return Ok(Project::Changed { path });
    }
    let file = ProjectFile::parse(&text, &path, at).map_err(|error| error.to_string())?;
    let (mut servers, mut skipped) = (BTreeSet::new(), Vec::new());
    let enabled = file.servers.into_iter().map(|spec| (spec, true));
    let disabled = file.disabled.into_iter().map(|spec| (spec, false));
    for (spec, enabled) in enabled.chain(disabled) {
        match find_obstacle(&spec, config, &trust) {
            Some(why) => skipped.push(SkippedServer {
                server: spec.name,
                reason: why,
            }),
            None => {
                servers.insert(spec.name.clone());
                let place = if enabled {
                    &mut config.servers
                } else {
                    &mut config.disabled
                };
                place.insert(spec.name.clone(), spec);
            }
        }
    }
    Ok(Project::Active {
        path,
        servers,
        skipped,
    })
}

fn find_obstacle(spec: &ServerSpec, config: &Config, trust: &Trust) -> Option<Obstacle> {
    if config.find_server(&spec.name).is_some() || config.providers.contains_key(&spec.name) {
        return Some(Obstacle::NameTaken);
    }
    let missing = spec
        .variables()
        .into_iter()
        .find(|variable| !trust.grants(variable))?;
    Some(Obstacle::NotGranted { variable: missing })
}

/// Rules, keys, addresses and everything else except servers belong to the user's own file.
fn check_only_servers(text: &str) -> Result<(), Fault> {
    let Ok(document) = toml::de::DeTable::parse(text) else {
        return Ok(());
    };
    let mut keys = document.get_ref().keys();
    let Some(key) = keys.find(|key| key.get_ref() != "servers") else {
        return Ok(());
    };
    let section = key.get_ref().to_string();
    let problem = Problem::NotForProjects {
        section: section.clone(),
    };
    Err(Fault::new(key.span(), section, problem))
}

/// Returns the project file in that directory, if there is one.
pub(super) fn find_project_file(folder: &Path) -> Option<PathBuf> {
    let path = folder.join(super::load::FILE_NAME);
    match fs::canonicalize(&path) {
        Ok(path) => path.is_file().then_some(path),
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(_) => Some(path),
    }
}

/// Describes the secret or variable that a server needs.
pub fn describe_variable(variable: &str) -> String {
    match variable.strip_prefix(kitbag_domain::Template::SECRET) {
        Some(secret) => format!("your secret `{secret}`"),
        None => format!("your variable `{variable}`"),
    }
}

/// Returns the `kitbag trust` flag that grants the secret or variable.
pub fn grant_flag(variable: &str) -> String {
    match variable.strip_prefix(kitbag_domain::Template::SECRET) {
        Some(secret) => format!("--grant-secret {secret}"),
        None => format!("--grant-variable {variable}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Environment, Overrides};

    /// A user's configuration and a project's, in temporary directories.
    struct Folders(tempfile::TempDir);

    impl Folders {
        fn new(own: &str, project: &str) -> Self {
            let folders = Self(tempfile::tempdir().unwrap());
            folders.write("home/.config/kitbag/kitbag.toml", own);
            folders.write("project/kitbag.toml", project);
            folders
        }

        fn write(&self, path: &str, text: &str) {
            let path = self.0.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }

        fn at(&self) -> ConfigSource {
            let (cwd, home) = (
                self.0.path().join("project"),
                Some(self.0.path().join("home")),
            );
            let environment = Environment {
                cwd,
                home,
                ..Environment::default()
            };
            ConfigSource {
                overrides: Overrides::default(),
                environment,
            }
        }

        fn trust(&self, granted: &[&str]) {
            let at = self.at();
            let path = at.project_file().unwrap();
            let text = fs::read_to_string(&path).unwrap();
            let (secrets, variables): (Vec<_>, Vec<_>) =
                granted.iter().partition(|name| name.starts_with("secret:"));
            let secret = |name: &&str| name.trim_start_matches("secret:").to_owned();
            let trust = Trust {
                path,
                hash: Trust::hash_text(&text),
                since: jiff::Timestamp::UNIX_EPOCH,
                secrets: secrets.into_iter().map(secret).collect(),
                variables: variables
                    .into_iter()
                    .map(|name: &&str| (*name).to_owned())
                    .collect(),
            };
            let data_dir = at.data_dir().unwrap();
            TrustFile::in_data_dir(&data_dir).add(trust).unwrap();
        }

        /// Checks the active servers and the notices.
        fn check(&self, servers: &[&str], notice: &str) {
            let config = self.at().load().unwrap();
            let found: Vec<_> = config.servers.keys().map(ServerName::as_str).collect();
            let notices = config.project.notices();
            let all: Vec<_> = notices
                .iter()
                .map(|(what, remedy)| format!("{what} => {remedy}"))
                .collect();
            assert_eq!(found, servers, "{all:?}");
            match notice {
                "" => assert_eq!(all, [""; 0]),
                notice => assert!(all.iter().any(|it| it.contains(notice)), "{all:?}"),
            }
        }
    }

    const OWN: &str = "[servers.mine]\ncommand = 'mine'";
    const THEIRS: &str = "[servers.theirs]\ncommand = 'theirs'";

    #[test]
    fn a_projects_servers_are_active_only_while_its_text_is_the_trusted_one() {
        let folders = Folders::new(OWN, THEIRS);
        folders.check(&["mine"], "you have not trusted it");
        folders.trust(&[]);
        folders.check(&["mine", "theirs"], "");
        folders.write("project/kitbag.toml", "[servers.theirs]\ncommand = 'sh'");
        folders.check(&["mine"], "it has changed since you trusted it");
        folders.trust(&[]);
        folders.check(&["mine", "theirs"], "");
    }

    #[test]
    fn a_project_adds_servers_but_no_rules_and_replaces_no_server() {
        let folders = Folders::new(OWN, &format!("{THEIRS}\n[servers.mine]\ncommand = 'other'"));
        folders.trust(&[]);
        folders.check(&["mine", "theirs"], "`mine` of");
        let config = folders.at().load().unwrap();
        let mine = config.servers[&"mine".parse().unwrap()].launch().unwrap();
        assert_eq!(mine.command.source(), "mine");
        for section in [
            "policy",
            "serve",
            "store",
            "tenants.a",
            "providers.a",
            "surfaces",
            "import",
        ] {
            folders.write("project/kitbag.toml", &format!("{THEIRS}\n[{section}]\n"));
            folders.trust(&[]);
            folders.check(&["mine"], "belongs in your own configuration");
        }
    }

    #[test]
    fn a_project_gets_only_granted_secrets_and_variables() {
        for (text, variable) in [
            (
                "command = 'x'\nenv = { A = '${secret:token}' }",
                "secret:token",
            ),
            (
                "command = 'x'\nargs = ['${AWS_SECRET:-none}']",
                "AWS_SECRET",
            ),
            ("command = '${HOME}/x'", "HOME"),
            ("url = 'https://a.example/${secret:token}'", "secret:token"),
            (
                "url = 'https://a.example/'\nheaders = { A = '${TOKEN}' }",
                "TOKEN",
            ),
            (
                "url = 'https://a.example/'\noauth = { client_id = 'a', client_secret = '${secret:token}' }",
                "secret:token",
            ),
        ] {
            let folders = Folders::new(OWN, &format!("[servers.theirs]\n{text}"));
            folders.trust(&["secret:other", "OTHER"]);
            folders.check(&["mine"], "was not granted");
            folders.trust(&[variable]);
            folders.check(&["mine", "theirs"], "");
        }
    }

    #[test]
    fn the_users_own_file_is_not_a_project() {
        let folders = Folders::new("", THEIRS);
        let mut at = folders.at();
        at.overrides.config = Some("kitbag.toml".into());
        let config = at.load().unwrap();
        assert_eq!((config.servers.len(), config.project), (1, Project::None));
    }
}
