//! The data that `run_intent` needs in addition to the tools: templates from files and learned
//! ones, cached answers, and each client's last unanswered intent.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use kitbag_config::Code;
use kitbag_domain::sync::lock;
use kitbag_domain::{ServerName, Tenant};
use kitbag_intents::cache::CacheLimits;
use kitbag_intents::{CacheKey, LearnedTemplate, ResultCache, TemplateSet, built_in};
use kitbag_store::Store;
use kitbag_wire::Raw;
use tokio::sync::watch;
use tokio::time::timeout;

use crate::learning::learned_templates::{LearnedError, read_all};
use crate::learning::template_folder::TemplateFolder;

/// The data that lives as long as the process.
pub(crate) struct Intents {
    pub(crate) results: Mutex<ResultCache<CachedAnswer>>,
    learned: Mutex<HashMap<Tenant, CachedTemplates>>,
    unanswered: Mutex<HashMap<Arc<str>, UnansweredIntent>>,
    /// Intents that are being executed. A receiver ends with its intent.
    running: Mutex<HashMap<CacheKey, watch::Receiver<()>>>,
}

/// An intent that is being executed; identical ones wait for its end.
pub(crate) struct RunningIntent {
    intents: Arc<Intents>,
    key: CacheKey,
    _ends: watch::Sender<()>,
}

/// A cached result.
#[derive(Debug, Clone)]
pub(crate) struct CachedAnswer {
    pub(crate) answer: Raw,
    pub(crate) since: Instant,
}

#[derive(Clone)]
struct CachedTemplates {
    templates: Arc<[LearnedTemplate]>,
    read: Instant,
}

/// A client's last intent without an answer.
struct UnansweredIntent {
    text: String,
    /// The tools that the client got for it.
    tools: Vec<String>,
    since: Instant,
}

/// Another gateway over the same store may learn templates; they are reloaded after this time.
const LEARNED_CACHE_TIME: Duration = Duration::from_secs(10);
/// After this time, a program counts as unrelated to the intent.
const UNANSWERED_LIFETIME: Duration = Duration::from_secs(600);
/// An intent that waits for the user, or for a slow server, does not delay identical ones for
/// longer.
const LONGEST_WAIT: Duration = Duration::from_secs(5);
/// Clients whose last intent is stored. At this number, expired intents are dropped; if that is not
/// enough, all are.
const MAX_UNANSWERED: usize = 1_000;

impl Default for Intents {
    fn default() -> Self {
        Self {
            results: Mutex::new(ResultCache::new(CacheLimits::default())),
            learned: Mutex::default(),
            unanswered: Mutex::default(),
            running: Mutex::default(),
        }
    }
}

impl Drop for RunningIntent {
    fn drop(&mut self) {
        lock(&self.intents.running).remove(&self.key);
    }
}

impl Intents {
    /// Waits for the end of an identical intent of another client, if there is one: its result may
    /// answer this one. Returns a guard for the first.
    pub(crate) async fn begin_or_wait(self: &Arc<Self>, key: &CacheKey) -> Option<RunningIntent> {
        let (ends, ended) = watch::channel(());
        let mut earlier = match lock(&self.running).entry(key.clone()) {
            Entry::Occupied(earlier) => earlier.get().clone(),
            Entry::Vacant(entry) => {
                entry.insert(ended);
                return Some(RunningIntent {
                    intents: self.clone(),
                    key: key.clone(),
                    _ends: ends,
                });
            }
        };
        let _ = timeout(LONGEST_WAIT, earlier.changed()).await;
        None
    }

    /// Drops cached results of a server, because something may have changed there.
    pub(crate) fn forget_results_of(&self, server: &ServerName) {
        lock(&self.results).invalidate_server(server);
    }

    /// Drops all cached results, because rules or templates may have changed.
    pub(crate) fn forget_results(&self) {
        lock(&self.results).clear();
    }

    /// Returns the templates learned from a tenant's programs, as of some seconds ago.
    pub(crate) async fn learned_templates(
        &self,
        store: &Store,
        tenant: &Tenant,
    ) -> Arc<[LearnedTemplate]> {
        let known = lock(&self.learned).get(tenant).cloned();
        if let Some(known) = known.filter(|known| known.read.elapsed() < LEARNED_CACHE_TIME) {
            return known.templates;
        }
        let templates = match read_learned_templates(store, tenant).await {
            Ok(templates) => templates,
            Err(error) => {
                tracing::warn!(%error, "failed to read learned templates");
                Arc::default()
            }
        };
        let read = CachedTemplates {
            templates: templates.clone(),
            read: Instant::now(),
        };
        lock(&self.learned).insert(tenant.clone(), read);
        templates
    }

    /// Makes the next request reload learned templates.
    pub(crate) fn forget_learned(&self, tenant: &Tenant) {
        lock(&self.learned).remove(tenant);
    }

    /// Records an intent for which a client got these tools to choose from.
    pub(crate) fn record_unanswered(&self, client: &Arc<str>, intent: &str, tools: Vec<String>) {
        let mut unanswered = lock(&self.unanswered);
        if unanswered.len() >= MAX_UNANSWERED {
            unanswered.retain(|_, it| it.since.elapsed() < UNANSWERED_LIFETIME);
        }
        if unanswered.len() >= MAX_UNANSWERED {
            unanswered.clear();
        }
        let text = intent.to_owned();
        let since = Instant::now();
        unanswered.insert(client.clone(), UnansweredIntent { text, tools, since });
    }

    /// Returns the intent behind a program of this client, if the program uses one of the tools
    /// that the client got for the intent.
    pub(crate) fn intent_behind(&self, client: &Arc<str>, used: &[&str]) -> Option<String> {
        let unanswered = lock(&self.unanswered);
        let unanswered = unanswered.get(client)?;
        let is_recent = unanswered.since.elapsed() < UNANSWERED_LIFETIME;
        let uses_one = unanswered
            .tools
            .iter()
            .any(|tool| used.contains(&tool.as_str()));
        (is_recent && uses_one).then(|| unanswered.text.clone())
    }
}

async fn read_learned_templates(
    store: &Store,
    tenant: &Tenant,
) -> Result<Arc<[LearnedTemplate]>, LearnedError> {
    let (rows, broken) = read_all(store, Some(tenant)).await?;
    for error in broken {
        tracing::warn!(%error, "skipped a learned template");
    }
    Ok(rows.into_iter().map(|row| row.learned).collect())
}

/// Reads the built-in templates and the operator's. Faulty templates are logged and skipped.
pub(crate) fn read_templates(code: &Code) -> TemplateSet {
    let folder = TemplateFolder::read(&code.templates);
    for (path, error) in &folder.unreadable {
        tracing::warn!(path = %path.display(), %error, "failed to read a template");
    }
    let mut files = built_in::files();
    files.extend(folder.files);
    let (set, complaints) = TemplateSet::read(&files);
    for complaint in complaints {
        tracing::warn!("problem with a template: {complaint}");
    }
    set
}
