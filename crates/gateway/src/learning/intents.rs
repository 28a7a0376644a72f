//! Everything that requests in words need besides the tools: templates of files and of experience,
//! results that answer again, and the words that clients said last.

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

/// The part that the process keeps.
pub(crate) struct Intents {
    pub(crate) results: Mutex<ResultCache<CachedAnswer>>,
    learned: Mutex<HashMap<Tenant, CachedTemplates>>,
    heard: Mutex<HashMap<Arc<str>, UnansweredIntent>>,
    /// The requests that are being carried out. A receiver ends with its request.
    under_way: Mutex<HashMap<CacheKey, watch::Receiver<()>>>,
}

/// A request that is being carried out; further ones of the same words wait for its end.
pub(crate) struct RunningIntent {
    intents: Arc<Intents>,
    key: CacheKey,
    _ends: watch::Sender<()>,
}

/// A result that answers the same request again.
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

/// The request in words that a client made last and that led to no answer.
struct UnansweredIntent {
    words: String,
    /// The tools that the client got for them.
    tools: Vec<String>,
    since: Instant,
}

/// Another gateway over the same store may learn something; it is read again after this time.
const LEARNED_FOR: Duration = Duration::from_secs(10);
/// A program that comes later has nothing to do with the words.
const HEARD_FOR: Duration = Duration::from_secs(600);
/// A request that waits for a person, or for a slow server, does not hold up others for longer.
const LONGEST_WAIT: Duration = Duration::from_secs(5);
/// Clients whose words are remembered; the longest silent is forgotten.
const MOST_HEARD: usize = 1_000;

impl Default for Intents {
    fn default() -> Self {
        Self {
            results: Mutex::new(ResultCache::new(CacheLimits::default())),
            learned: Mutex::default(),
            heard: Mutex::default(),
            under_way: Mutex::default(),
        }
    }
}

impl Drop for RunningIntent {
    fn drop(&mut self) {
        lock(&self.intents.under_way).remove(&self.key);
    }
}

impl Intents {
    /// Waits for the same request of another client to end, if there is one: its result may answer
    /// this one. Returns the mark of a request that is the first.
    pub(crate) async fn begin_or_wait(self: &Arc<Self>, key: &CacheKey) -> Option<RunningIntent> {
        let (ends, ended) = watch::channel(());
        let mut earlier = match lock(&self.under_way).entry(key.clone()) {
            Entry::Occupied(earlier) => earlier.get().clone(),
            Entry::Vacant(place) => {
                place.insert(ended);
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

    /// Forgets results that came from a server, because something may have changed there.
    pub(crate) fn forget_results_of(&self, server: &ServerName) {
        lock(&self.results).server_changed(server);
    }

    /// Forgets all results, because rules or templates may have changed.
    pub(crate) fn forget_results(&self) {
        lock(&self.results).clear();
    }

    /// Returns the templates that a tenant's programs taught, as they were some seconds ago.
    pub(crate) async fn learned_templates(
        &self,
        store: &Store,
        tenant: &Tenant,
    ) -> Arc<[LearnedTemplate]> {
        let known = lock(&self.learned).get(tenant).cloned();
        if let Some(known) = known.filter(|known| known.read.elapsed() < LEARNED_FOR) {
            return known.templates;
        }
        let templates = match read_learned_templates(store, tenant).await {
            Ok(templates) => templates,
            Err(error) => {
                tracing::warn!(%error, "learned templates cannot be read");
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

    /// Makes the next request read what was learned.
    pub(crate) fn forget_learned(&self, tenant: &Tenant) {
        lock(&self.learned).remove(tenant);
    }

    /// Remembers words for which a client got these tools to choose from.
    pub(crate) fn record_unanswered(&self, client: &Arc<str>, words: &str, tools: Vec<String>) {
        let mut heard = lock(&self.heard);
        if heard.len() >= MOST_HEARD {
            heard.retain(|_, it| it.since.elapsed() < HEARD_FOR);
        }
        if heard.len() >= MOST_HEARD {
            heard.clear();
        }
        let words = words.to_owned();
        let since = Instant::now();
        heard.insert(
            client.clone(),
            UnansweredIntent {
                words,
                tools,
                since,
            },
        );
    }

    /// Returns the words that a program of this client carries out: it uses one of the tools that the client
    /// got for them.
    pub(crate) fn intent_behind(&self, client: &Arc<str>, used: &[&str]) -> Option<String> {
        let heard = lock(&self.heard);
        let heard = heard.get(client)?;
        let is_recent = heard.since.elapsed() < HEARD_FOR;
        let uses_one = heard.tools.iter().any(|tool| used.contains(&tool.as_str()));
        (is_recent && uses_one).then(|| heard.words.clone())
    }
}

async fn read_learned_templates(
    store: &Store,
    tenant: &Tenant,
) -> Result<Arc<[LearnedTemplate]>, LearnedError> {
    let (rows, broken) = read_all(store, Some(tenant)).await?;
    for error in broken {
        tracing::warn!(%error, "a learned template is left out");
    }
    Ok(rows.into_iter().map(|row| row.learned).collect())
}

/// Reads the templates of the binary and those of the operator. What is wrong with one is told in
/// the log, and the others work.
pub(crate) fn read_templates(code: &Code) -> TemplateSet {
    let folder = TemplateFolder::read(&code.templates);
    for (path, error) in &folder.unreadable {
        tracing::warn!(path = %path.display(), %error, "a template cannot be read");
    }
    let mut files = built_in::files();
    files.extend(folder.files);
    let (set, complaints) = TemplateSet::read(&files);
    for complaint in complaints {
        tracing::warn!("a template: {complaint}");
    }
    set
}
