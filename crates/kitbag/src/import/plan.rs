//! Chooses the servers to add and their names, and adds them: secrets first, then the
//! configuration.

use std::collections::BTreeSet;
use std::env;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use kitbag_clients::{
    Client, ClientConfig, ClientLaunch, FileProblem, FoundServer, HiddenText, ImportNote,
    MergedServer, NeededVariable, Scope, SensitiveText, ServerOrigin, VariableSource, merge,
};
use kitbag_config::edit::{self, EditError, NewServer, Reach};
use kitbag_config::{Config, ConfigError, ConfigSource, KeyLocation};
use kitbag_domain::{RemoteTransport, ServerName, Template};
use serde::Serialize;
use toml_edit::Array;

use super::duplicates::ConfiguredServers;
use super::history::{ImportHistory, SectionSnapshot, section_of};
use super::staged_secrets::StagedSecrets;
use kitbag_gateway::state::store_address::store_address;
use kitbag_launch_review::danger::Danger;
use kitbag_launch_review::words::variables;
use kitbag_launch_review::{Review, ReviewSource};
use kitbag_store::StoreAddress;

#[derive(Debug)]
pub(crate) struct ImportPlan {
    /// The file to add the servers to.
    pub(crate) config: PathBuf,
    pub(crate) rows: Vec<ImportRow>,
    pub(crate) problems: Vec<FileProblem>,
    /// The new text of the file.
    text: String,
    /// The clients to follow.
    pub(crate) follow: Vec<Client>,
    /// True if there is something to write.
    pub(crate) edits: bool,
    secrets: StagedSecrets,
    store: StoreAddress,
    secret_key: KeyLocation,
    data_dir: PathBuf,
    history: ImportHistory,
    snapshots: Vec<SectionSnapshot>,
    flagged: FlaggedServers,
}

/// How to import servers flagged as dangerous.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FlaggedServers {
    /// The user reviews the plan.
    AsConfigured,
    /// Nobody is asked, so the server stays disabled until the user enables it.
    Disabled,
}

#[derive(Debug, Serialize)]
pub(crate) struct ImportRow {
    pub(crate) name: ServerName,
    pub(crate) action: ImportAction,
    /// The whole command line, or the URL.
    pub(crate) target: String,
    /// The names of the variables or headers that are set for the server.
    pub(crate) sets: Vec<String>,
    /// The reasons to review the server carefully.
    pub(crate) dangers: Vec<Danger>,
    pub(crate) disabled: bool,
    pub(crate) from: Vec<ServerOrigin>,
    /// The names of the secrets that go into the store.
    pub(crate) secrets: Vec<String>,
    /// Variables without a value.
    pub(crate) missing: Vec<NeededVariable>,
    pub(crate) notes: Vec<ImportNote>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) reason: Option<String>,
    #[serde(skip)]
    pub(crate) review: Review,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ImportAction {
    Add,
    /// The configuration has an equivalent server.
    Known,
    /// The configuration would be invalid with this server.
    Refused,
}

impl ImportPlan {
    /// Builds the plan without writing anything.
    pub(crate) async fn build(
        mut found: Vec<ClientConfig>,
        at: &ConfigSource,
        flagged: FlaggedServers,
    ) -> anyhow::Result<Self> {
        let path = at.editable_file()?;
        let text = edit::read_file(&path)?;
        let config = at
            .parse(&text, &path)
            .context("the configuration cannot be used")?;
        let secrets = StagedSecrets::load(&config).await?;
        let history = ImportHistory::open(&config.data_dir);
        let snapshots = found
            .iter()
            .filter(|it| it.scope != Scope::Project)
            .filter_map(SectionSnapshot::new)
            .collect();
        let problems = found
            .iter_mut()
            .flat_map(|it| it.problems.drain(..))
            .collect();
        if flagged == FlaggedServers::Disabled {
            for found in &mut found {
                history.retain_new(&path, found);
            }
        }
        let ours = ConfiguredServers {
            config: &config,
            path: &path,
            secrets: secrets.stored_values(),
            history: &history,
        };
        let merged = merge(found, ours.taken_names(), |wish, server| {
            ours.find_duplicate(wish, server)
        });
        let mut plan = Self {
            config: path,
            rows: Vec::new(),
            problems,
            text,
            follow: config.follow.clone(),
            edits: false,
            secrets,
            store: store_address(&config)?,
            secret_key: config.secret_key,
            data_dir: config.data_dir.clone(),
            history,
            snapshots,
            flagged,
        };
        for server in merged {
            plan.plan_server(server, &config, at);
        }
        Ok(plan)
    }

    /// Returns the reviews of servers from project files that would be added: their author is
    /// unknown.
    pub(crate) fn reviews_to_confirm(&self) -> Vec<Review> {
        let added = self
            .rows
            .iter()
            .filter(|row| row.action == ImportAction::Add && row.is_from_project());
        added.map(|row| row.review.clone()).collect()
    }

    /// Does not record the servers in the import history: they come from no file.
    pub(crate) fn without_history(mut self) -> Self {
        self.snapshots.clear();
        self
    }

    /// Adds these clients to the followed clients.
    pub(crate) fn follow_clients(
        &mut self,
        clients: impl IntoIterator<Item = Client>,
    ) -> Result<(), EditError> {
        let before = self.follow.len();
        for client in clients {
            if !self.follow.contains(&client) {
                self.follow.push(client);
            }
        }
        if self.follow.len() > before {
            let names: Array = self.follow.iter().map(|client| client.name()).collect();
            self.text = edit::set_key(&self.text, "import", "follow", names)?;
            self.edits = true;
        }
        Ok(())
    }

    /// Stores the secrets first, since the configuration refers to them.
    /// `verb` is the command or page that imports.
    pub(crate) async fn apply(&mut self, at: &ConfigSource, verb: &str) -> anyhow::Result<()> {
        if self.edits {
            self.secrets
                .save(&self.store, self.secret_key, verb)
                .await?;
            at.parse(&self.text, &self.config)
                .context("the servers were not added")?;
            edit::write_file(&self.config, &self.text)?;
        }
        self.record_history();
        Ok(())
    }

    /// Records the servers that the files have now, so that they are not new the next time.
    fn record_history(&mut self) {
        if self.snapshots.iter().all(SectionSnapshot::is_empty) && self.follow.is_empty() {
            return;
        }
        let rows = &self.rows;
        self.history
            .record(&self.config, &self.snapshots, |section, name| {
                // A refused server has no name in the configuration.
                let mut accepted = rows
                    .iter()
                    .filter(|row| row.action != ImportAction::Refused);
                let row = accepted.find(|row| {
                    let mut origins = row.from.iter();
                    origins.any(|origin| origin.name == name && section_of(origin) == section)
                })?;
                Some(row.name.clone())
            });
        // The servers are imported even if the history cannot be saved.
        if let Err(error) = self.history.save(&self.data_dir) {
            tracing::warn!(%error, "cannot save the import history");
        }
    }

    fn plan_server(&mut self, merged: MergedServer, config: &Config, at: &ConfigSource) {
        let MergedServer {
            name,
            server,
            from,
            known,
        } = merged;
        let review = Review::new(
            name.as_str(),
            review_source(&from, at),
            &reveal_values(&server.launch),
        );
        let awaits_review = self.flagged == FlaggedServers::Disabled && !review.dangers.is_empty();
        let mut row = ImportRow {
            target: review.line(),
            sets: review.sets(),
            dangers: review.dangers.clone(),
            action: ImportAction::Known,
            disabled: server.disabled || awaits_review,
            from,
            secrets: Vec::new(),
            missing: Vec::new(),
            notes: server.notes.clone(),
            reason: None,
            review,
            name,
        };
        if known {
            row.missing = self.missing_of_configured(config, &row.name, &server.variables);
            self.rows.push(row);
            return;
        }
        let checkpoint = self.secrets.checkpoint();
        match self.add_to_text(&row, &server, at) {
            Ok(text) => {
                self.text = text;
                self.edits = true;
                row.action = ImportAction::Add;
                row.secrets = self.secrets.staged_since(checkpoint);
                row.missing = self.missing_variables(&server.variables, row.source_file());
            }
            Err(error) => {
                self.secrets.roll_back(checkpoint);
                row.action = ImportAction::Refused;
                row.reason = Some(describe_error(&error));
            }
        }
        self.rows.push(row);
    }

    /// Returns the text with this server added, if the configuration is valid with it.
    fn add_to_text(
        &mut self,
        row: &ImportRow,
        server: &FoundServer,
        at: &ConfigSource,
    ) -> anyhow::Result<String> {
        let secrets = &mut self.secrets;
        let reach = build_reach(&server.launch, |value, what| {
            value.template(|hidden| match hidden {
                HiddenText::Typed(secret) => secrets.stage(&row.name, what, secret),
                HiddenText::Wanted(id) => secrets.reserve_name(row.source_file(), &row.name, id),
            })
        });
        let text = edit::add_server(
            &self.text,
            &row.name,
            &NewServer {
                reach,
                enabled: !row.disabled,
            },
        )?;
        at.parse(&text, &self.config)?;
        Ok(text)
    }

    /// Returns the missing variables, with the names of secrets in the store.
    fn missing_variables(&self, variables: &[NeededVariable], file: &Path) -> Vec<NeededVariable> {
        variables
            .iter()
            .map(|variable| self.to_local_name(variable, file))
            .filter(|variable| !self.is_set(&variable.name))
            .collect()
    }

    fn to_local_name(&self, variable: &NeededVariable, file: &Path) -> NeededVariable {
        let Some(id) = variable.name.strip_prefix(Template::SECRET) else {
            return variable.clone();
        };
        let name = self.secrets.reserved_name(file, id);
        let name = name.map_or(id, |name| name.as_str());
        NeededVariable {
            name: format!("{}{name}", Template::SECRET),
            source: variable.source.clone(),
        }
    }

    /// Returns the unset variables of a configured server, which may have renamed them since the
    /// import.
    fn missing_of_configured(
        &self,
        config: &Config,
        name: &ServerName,
        theirs: &[NeededVariable],
    ) -> Vec<NeededVariable> {
        let Some(spec) = config.find_server(name) else {
            return Vec::new();
        };
        let wanted: BTreeSet<String> = spec
            .templates()
            .flat_map(|template| variables(template.source()))
            .collect();
        let open = wanted.into_iter().filter(|name| !self.is_set(name));
        open.filter_map(|name| {
            Some(NeededVariable {
                source: find_source(&name, theirs)?,
                name,
            })
        })
        .collect()
    }

    fn is_set(&self, variable: &str) -> bool {
        match variable.strip_prefix(Template::SECRET) {
            Some(secret) => self.secrets.contains(secret),
            None => env::var_os(variable).is_some(),
        }
    }
}

impl ImportRow {
    /// True if only project files have the server.
    pub(crate) fn is_from_project(&self) -> bool {
        self.from
            .iter()
            .all(|origin| origin.scope == Scope::Project)
    }

    /// True if the server is disabled until the user has reviewed it.
    pub(crate) fn awaits_review(&self) -> bool {
        self.action == ImportAction::Add && self.disabled && !self.dangers.is_empty()
    }

    fn source_file(&self) -> &Path {
        self.from
            .first()
            .map_or(Path::new(""), |origin| &origin.path)
    }
}

/// Returns the source that the client's file gives for a variable of the configuration.
fn find_source(name: &str, theirs: &[NeededVariable]) -> Option<VariableSource> {
    let id = name.rsplit('.').next().unwrap_or(name);
    let alike = theirs
        .iter()
        .find(|it| it.name == name || it.name.strip_prefix(Template::SECRET) == Some(id));
    alike.map(|it| it.source.clone())
}

/// Prefers the user's own file, since then the user wrote the server's entry.
fn review_source(from: &[ServerOrigin], at: &ConfigSource) -> ReviewSource {
    let own = from.iter().find(|origin| origin.scope != Scope::Project);
    match (own, from.first()) {
        (None, Some(origin)) => ReviewSource::ProjectFile {
            path: origin.path.clone(),
            project: at.environment.cwd.clone(),
        },
        (own, _) => ReviewSource::ClientFile {
            path: own.map(|origin| origin.path.clone()).unwrap_or_default(),
        },
    }
}

/// Returns the reach with all secrets in plain text, so that the review covers them, too.
fn reveal_values(launch: &ClientLaunch) -> Reach {
    build_reach(launch, |value, _| {
        value.template(|hidden| match hidden {
            HiddenText::Typed(secret) => secret.to_owned(),
            HiddenText::Wanted(id) => format!("<{id}>"),
        })
    })
}

/// Builds the reach, converting each value with `text`, which also gets the value's key.
fn build_reach(
    launch: &ClientLaunch,
    mut text: impl FnMut(&SensitiveText, &str) -> String,
) -> Reach {
    match launch {
        ClientLaunch::Stdio {
            command,
            args,
            env,
            cwd,
        } => Reach::Launch {
            command: text(command, "command"),
            args: args.iter().map(|word| text(word, "argument")).collect(),
            env: env
                .iter()
                .map(|(key, value)| (key.clone(), text(value, key)))
                .collect(),
            cwd: cwd.clone(),
        },
        ClientLaunch::Http {
            url,
            transport,
            headers,
        } => Reach::Remote {
            url: text(url, "url"),
            transport: (*transport == RemoteTransport::Sse).then(|| "sse".to_owned()),
            headers: headers
                .iter()
                .map(|(key, value)| (key.clone(), text(value, key)))
                .collect(),
        },
    }
}

/// Omits the position in the file, since the file does not contain the server.
fn describe_error(error: &anyhow::Error) -> String {
    match error.downcast_ref() {
        Some(ConfigError::Invalid { problem, .. }) => problem.to_string(),
        _ => error.root_cause().to_string(),
    }
}
