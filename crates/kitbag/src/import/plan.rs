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

use super::keeping::Keeping;
use super::memory::{Memory, PlaceLook, place_of};
use super::same::OurServers;
use kitbag_gateway::state::store_address::store_address;
use kitbag_launch_review::danger::Danger;
use kitbag_launch_review::words::variables;
use kitbag_launch_review::{Review, ReviewSource};
use kitbag_store::StoreAddress;

#[derive(Debug)]
pub(crate) struct ImportPlan {
    /// The file that gets the servers.
    pub(crate) config: PathBuf,
    pub(crate) rows: Vec<ImportRow>,
    pub(crate) problems: Vec<FileProblem>,
    /// The text that the file will hold.
    text: String,
    /// The clients that are followed.
    pub(crate) follow: Vec<Client>,
    /// True if there is something to write.
    pub(crate) edits: bool,
    keeping: Keeping,
    store: StoreAddress,
    secret_key: KeyLocation,
    data_dir: PathBuf,
    memory: Memory,
    looks: Vec<PlaceLook>,
    marked: Marked,
}

/// The treatment of a server that a person should look at twice.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Marked {
    /// A person looks at the server.
    AsItIs,
    /// No person is asked, so the server waits until a person switches it on.
    SwitchedOff,
}

#[derive(Debug, Serialize)]
pub(crate) struct ImportRow {
    pub(crate) name: ServerName,
    pub(crate) action: ImportAction,
    /// The whole command line, or the address.
    pub(crate) target: String,
    /// The names of the variables or headers that are set for the server.
    pub(crate) sets: Vec<String>,
    /// The forms that a person should look at twice.
    pub(crate) dangers: Vec<Danger>,
    pub(crate) disabled: bool,
    pub(crate) from: Vec<ServerOrigin>,
    /// The names of the secrets that go into the store.
    pub(crate) secrets: Vec<String>,
    /// Variables that have no value yet.
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
    /// A server of ours does the same.
    Known,
    /// Our configuration would not take the server.
    Refused,
}

impl ImportPlan {
    /// Makes the plan: reads, and writes nothing.
    pub(crate) async fn make(found: Vec<ClientConfig>, at: &ConfigSource) -> anyhow::Result<Self> {
        Self::of(found, at, Marked::AsItIs).await
    }

    /// Makes the same plan without the servers that these files had when they were last looked at.
    pub(crate) async fn of_additions(
        found: Vec<ClientConfig>,
        at: &ConfigSource,
    ) -> anyhow::Result<Self> {
        Self::of(found, at, Marked::SwitchedOff).await
    }

    async fn of(
        mut found: Vec<ClientConfig>,
        at: &ConfigSource,
        marked: Marked,
    ) -> anyhow::Result<Self> {
        let path = at.editable_file()?;
        let text = edit::read_file(&path)?;
        let config = at
            .parse(&text, &path)
            .context("the configuration cannot be used")?;
        let keeping = Keeping::of(&config).await?;
        let memory = Memory::open(&config.data_dir);
        let looks = found
            .iter()
            .filter(|it| it.scope != Scope::Project)
            .filter_map(PlaceLook::at)
            .collect();
        let problems = found
            .iter_mut()
            .flat_map(|it| it.problems.drain(..))
            .collect();
        if marked == Marked::SwitchedOff {
            for found in &mut found {
                memory.retain_new(&path, found);
            }
        }
        let ours = OurServers {
            config: &config,
            path: &path,
            secrets: keeping.known(),
            memory: &memory,
        };
        let merged = merge(found, ours.names(), |wish, server| {
            ours.same_as(wish, server)
        });
        let mut plan = Self {
            config: path,
            rows: Vec::new(),
            problems,
            text,
            follow: config.follow.clone(),
            edits: false,
            keeping,
            store: store_address(&config)?,
            secret_key: config.secret_key,
            data_dir: config.data_dir.clone(),
            memory,
            looks,
            marked,
        };
        for server in merged {
            plan.decide(server, &config, at);
        }
        Ok(plan)
    }

    /// Returns the servers that came along with a project and would be added: their author is
    /// unknown.
    pub(crate) fn to_confirm(&self) -> Vec<Review> {
        let added = self
            .rows
            .iter()
            .filter(|row| row.action == ImportAction::Add && row.is_of_project());
        added.map(|row| row.review.clone()).collect()
    }

    /// Follows these clients from then on, with those that are followed already.
    pub(crate) fn follow(
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

    /// A secret must be in the store before anything refers to it.
    pub(crate) async fn carry_out(&mut self, at: &ConfigSource) -> anyhow::Result<()> {
        if self.edits {
            self.keeping.put_down(&self.store, self.secret_key).await?;
            at.parse(&self.text, &self.config)
                .context("the servers were not added")?;
            edit::write_file(&self.config, &self.text)?;
        }
        self.remember();
        Ok(())
    }

    /// Remembers the servers that the files have now, so that they are not new the next time.
    fn remember(&mut self) {
        if self.looks.iter().all(PlaceLook::is_empty) && self.follow.is_empty() {
            return;
        }
        let rows = &self.rows;
        self.memory.note(&self.config, &self.looks, |place, name| {
            our_name(rows, place, name)
        });
        // The servers are added all the same.
        if let Err(error) = self.memory.save(&self.data_dir) {
            tracing::warn!(%error, "what was imported cannot be remembered");
        }
    }

    fn decide(&mut self, merged: MergedServer, config: &Config, at: &ConfigSource) {
        let MergedServer {
            name,
            server,
            from,
            known,
        } = merged;
        let review = Review::of(name.as_str(), origin(&from, at), &revealed(&server.launch));
        let waits = self.marked == Marked::SwitchedOff && !review.dangers.is_empty();
        let mut row = ImportRow {
            target: review.line(),
            sets: review.sets(),
            dangers: review.dangers.clone(),
            action: ImportAction::Known,
            disabled: server.disabled || waits,
            from,
            secrets: Vec::new(),
            missing: Vec::new(),
            notes: server.notes.clone(),
            reason: None,
            review,
            name,
        };
        if known {
            row.missing = self.missing_of_ours(config, &row.name, &server.variables);
            self.rows.push(row);
            return;
        }
        let kept = self.keeping.mark();
        match self.add(&row, &server, at) {
            Ok(text) => {
                self.text = text;
                self.edits = true;
                row.action = ImportAction::Add;
                row.secrets = self.keeping.since(kept);
                row.missing = self.missing(&server.variables, row.file());
            }
            Err(error) => {
                self.keeping.back_to(kept);
                row.action = ImportAction::Refused;
                row.reason = Some(reason(&error));
            }
        }
        self.rows.push(row);
    }

    /// Returns the text with one server more, if the configuration takes it.
    fn add(
        &mut self,
        row: &ImportRow,
        server: &FoundServer,
        at: &ConfigSource,
    ) -> anyhow::Result<String> {
        let keeping = &mut self.keeping;
        let reach = reach(&server.launch, |value, what| {
            value.template(|hidden| match hidden {
                HiddenText::Typed(secret) => keeping.keep(&row.name, what, secret),
                HiddenText::Wanted(id) => keeping.want(row.file(), &row.name, id),
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

    /// Returns the missing variables under the names that secrets have here.
    fn missing(&self, variables: &[NeededVariable], file: &Path) -> Vec<NeededVariable> {
        variables
            .iter()
            .map(|variable| self.named_here(variable, file))
            .filter(|variable| !self.is_set(&variable.name))
            .collect()
    }

    fn named_here(&self, variable: &NeededVariable, file: &Path) -> NeededVariable {
        let Some(id) = variable.name.strip_prefix(Template::SECRET) else {
            return variable.clone();
        };
        let name = self.keeping.wanted(file, id);
        let name = name.map_or(id, |name| name.as_str());
        NeededVariable {
            name: format!("{}{name}", Template::SECRET),
            source: variable.source.clone(),
        }
    }

    /// Returns the variables that a server of ours waits for. The server may use other names for
    /// them by now.
    fn missing_of_ours(
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
                source: source_of(&name, theirs)?,
                name,
            })
        })
        .collect()
    }

    fn is_set(&self, variable: &str) -> bool {
        match variable.strip_prefix(Template::SECRET) {
            Some(secret) => self.keeping.has(secret),
            None => env::var_os(variable).is_some(),
        }
    }
}

impl ImportRow {
    /// True if only files of a project have the server.
    pub(crate) fn is_of_project(&self) -> bool {
        self.from
            .iter()
            .all(|origin| origin.scope == Scope::Project)
    }

    /// True if the server was switched off so that a person looks at it first.
    pub(crate) fn waits(&self) -> bool {
        self.action == ImportAction::Add && self.disabled && !self.dangers.is_empty()
    }

    /// True if the place in a file has the server under this name.
    fn stands_at(&self, place: &str, name: &str) -> bool {
        let mut origins = self.from.iter();
        origins.any(|origin| origin.name == name && place_of(origin) == place)
    }

    fn file(&self) -> &Path {
        self.from
            .first()
            .map_or(Path::new(""), |origin| &origin.path)
    }
}

/// Returns our name for the server that a place in a file has under this name, unless it was
/// refused.
fn our_name(rows: &[ImportRow], place: &str, name: &str) -> Option<ServerName> {
    let mut with_us = rows
        .iter()
        .filter(|row| row.action != ImportAction::Refused);
    let row = with_us.find(|row| row.stands_at(place, name))?;
    Some(row.name.clone())
}

/// Returns the source that the client's file names for a variable of ours.
fn source_of(name: &str, theirs: &[NeededVariable]) -> Option<VariableSource> {
    let id = name.rsplit('.').next().unwrap_or(name);
    let alike = theirs
        .iter()
        .find(|it| it.name == name || it.name.strip_prefix(Template::SECRET) == Some(id));
    alike.map(|it| it.source.clone())
}

/// Returns the person's own file, if one has the server: then the person wrote it.
fn origin(from: &[ServerOrigin], at: &ConfigSource) -> ReviewSource {
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

/// Returns the reach with every typed value in full, so that no value escapes being judged by being
/// called a secret.
fn revealed(launch: &ClientLaunch) -> Reach {
    reach(launch, |value, _| {
        value.template(|hidden| match hidden {
            HiddenText::Typed(secret) => secret.to_owned(),
            HiddenText::Wanted(id) => format!("<{id}>"),
        })
    })
}

/// Returns how the server is reached, with what `text` makes of each value and of the name it
/// stands under.
fn reach(launch: &ClientLaunch, mut text: impl FnMut(&SensitiveText, &str) -> String) -> Reach {
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

/// Returns the reason without a place in the file, which does not have the server.
fn reason(error: &anyhow::Error) -> String {
    match error.downcast_ref() {
        Some(ConfigError::Invalid { problem, .. }) => problem.to_string(),
        _ => error.root_cause().to_string(),
    }
}
