//! Results that are cached for a while: per tenant, request and set of parameters.
//!
//! Only results of reads are cached. A possible change on a server makes all results from it stale,
//! for every tenant: tenants share servers, and a gateway cannot see which of a server's data a
//! write has changed. A result that was read while a server changed is not cached.

use std::collections::HashMap;
use std::time::Duration;

use kitbag_domain::{ExposedName, ServerName, Tenant, Timestamp};
use serde_json::{Map, Value};

use crate::canonical;
use crate::template::IntentTemplate;
use crate::words::FoldedRequest;

/// How long a result is cached unless its template sets another time.
pub const DEFAULT_TTL: Duration = Duration::from_secs(300);

/// Identifies a result. It contains only a digest of the parameters.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct CacheKey {
    tenant: Tenant,
    digest: String,
}

/// The request that a result belongs to.
#[derive(Debug, Clone, Copy)]
pub enum CacheSubject<'a> {
    /// Words, in any spelling that folds to the same text.
    Words(&'a str),
    Template(&'a IntentTemplate),
    Tool(&'a ExposedName),
}

/// A point in the history of a cache, taken before a result is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct CacheMark(u64);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CacheLimits {
    pub entries: usize,
    pub bytes: usize,
}

/// A result to cache.
#[derive(Debug, Clone)]
pub struct NewResult<'a, V> {
    pub value: V,
    pub bytes: usize,
    /// The servers that it came from.
    pub servers: &'a [ServerName],
    /// The mark from before it was read.
    pub mark: CacheMark,
    pub ttl: Duration,
}

#[derive(Debug)]
pub struct ResultCache<V> {
    limits: CacheLimits,
    results: HashMap<CacheKey, CachedResult<V>>,
    bytes: usize,
    /// Increases with each use and each change.
    tick: u64,
    /// The tick of the last change of each server.
    changed: HashMap<ServerName, u64>,
}

#[derive(Debug)]
struct CachedResult<V> {
    value: V,
    bytes: usize,
    servers: Vec<ServerName>,
    since: Timestamp,
    until: Timestamp,
    used: u64,
}

impl Default for CacheLimits {
    fn default() -> Self {
        Self {
            entries: 4_096,
            bytes: 32 * 1024 * 1024,
        }
    }
}

impl CacheKey {
    pub fn new(tenant: &Tenant, subject: CacheSubject<'_>, params: &Map<String, Value>) -> Self {
        let params = canonical::text(&Value::Object(params.clone()));
        let text = format!("{}\0{params}", subject.text());
        Self {
            tenant: tenant.clone(),
            digest: canonical::digest_of_text(&text),
        }
    }
}

impl CacheSubject<'_> {
    fn text(&self) -> String {
        match self {
            Self::Words(words) => format!("words\0{}", FoldedRequest::read(words).folded_text()),
            Self::Template(template) => format!("template\0{}", template.fingerprint()),
            Self::Tool(tool) => format!("tool\0{tool}"),
        }
    }
}

impl<V> ResultCache<V> {
    pub fn new(limits: CacheLimits) -> Self {
        Self {
            limits,
            results: HashMap::new(),
            bytes: 0,
            tick: 0,
            changed: HashMap::new(),
        }
    }

    pub fn mark(&self) -> CacheMark {
        CacheMark(self.tick)
    }

    /// Returns the result, unless it has expired. A clock that went back makes results expire, too.
    pub fn get(&mut self, key: &CacheKey, now: Timestamp) -> Option<&V> {
        self.tick += 1;
        let kept = self.results.get_mut(key)?;
        if kept.since <= now && now < kept.until {
            kept.used = self.tick;
        } else {
            self.remove(key);
        }
        self.results.get(key).map(|kept| &kept.value)
    }

    /// Caches a result, unless one of its servers has changed since it was read, or it is too
    /// large.
    pub fn put(&mut self, key: CacheKey, new: NewResult<'_, V>, now: Timestamp) {
        /// A result that takes a larger part would evict too many others.
        const SMALLEST_PART: usize = 8;
        let stale = new
            .servers
            .iter()
            .any(|it| self.changed_after(it, new.mark));
        if stale || new.bytes > self.limits.bytes / SMALLEST_PART {
            return;
        }
        self.tick += 1;
        self.remove(&key);
        self.bytes += new.bytes;
        let lasting = i64::try_from(new.ttl.as_millis()).unwrap_or(i64::MAX);
        let kept = CachedResult {
            value: new.value,
            bytes: new.bytes,
            servers: new.servers.to_vec(),
            since: now,
            until: Timestamp(now.0.saturating_add(lasting)),
            used: self.tick,
        };
        self.results.insert(key, kept);
        self.make_room();
    }

    /// Drops everything from a server, after a write to it or a change in the definition of one of
    /// its tools.
    pub fn invalidate_server(&mut self, server: &ServerName) {
        self.tick += 1;
        self.changed.insert(server.clone(), self.tick);
        self.retain(|kept| !kept.servers.contains(server));
    }

    /// Drops everything, for example after the templates changed.
    pub fn clear(&mut self) {
        self.retain(|_| false);
    }

    fn changed_after(&self, server: &ServerName, mark: CacheMark) -> bool {
        let changed = self.changed.get(server);
        changed.is_some_and(|changed| *changed > mark.0)
    }

    fn retain(&mut self, keep: impl Fn(&CachedResult<V>) -> bool) {
        self.results.retain(|_, kept| keep(kept));
        self.bytes = self.results.values().map(|kept| kept.bytes).sum();
    }

    fn remove(&mut self, key: &CacheKey) {
        if let Some(kept) = self.results.remove(key) {
            self.bytes -= kept.bytes;
        }
    }

    fn make_room(&mut self) {
        while self.results.len() > self.limits.entries || self.bytes > self.limits.bytes {
            let Some(key) = self.next_to_evict() else {
                return;
            };
            self.remove(&key);
        }
    }

    /// The tenant with the most results is evicted first, its least recently used result first.
    fn next_to_evict(&self) -> Option<CacheKey> {
        let mut held: HashMap<&Tenant, (usize, usize)> = HashMap::new();
        for (key, kept) in &self.results {
            let (bytes, entries) = held.entry(&key.tenant).or_default();
            *bytes += kept.bytes;
            *entries += 1;
        }
        let by_bytes = self.bytes > self.limits.bytes;
        let (largest, _) = held
            .into_iter()
            .max_by_key(|(_, (bytes, entries))| if by_bytes { *bytes } else { *entries })?;
        let own = self
            .results
            .iter()
            .filter(|(key, _)| key.tenant == *largest);
        own.min_by_key(|(_, kept)| kept.used)
            .map(|(key, _)| key.clone())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn key(tenant: &str, words: &str) -> CacheKey {
        CacheKey::new(
            &tenant.parse().unwrap(),
            CacheSubject::Words(words),
            &Map::new(),
        )
    }

    struct Checked(ResultCache<u32>);

    impl Checked {
        fn new(entries: usize, bytes: usize) -> Self {
            Self(ResultCache::new(CacheLimits { entries, bytes }))
        }

        fn put(&mut self, tenant: &str, words: &str, value: u32, mark: CacheMark) {
            let new = NewResult {
                value,
                bytes: 10,
                servers: &["git".parse().unwrap()],
                mark,
                ttl: Duration::from_secs(1),
            };
            self.0.put(key(tenant, words), new, Timestamp(0));
        }

        fn get(&mut self, tenant: &str, words: &str, now: i64) -> Option<u32> {
            self.0.get(&key(tenant, words), Timestamp(now)).copied()
        }
    }

    #[test]
    fn a_result_is_cached_for_its_tenant_and_its_lifetime() {
        let mut cache = Checked::new(9, 900);
        cache.put("acme", "list errors", 1, cache.0.mark());
        assert_eq!(cache.get("acme", "show the errors", 999), Some(1));
        assert_eq!(cache.get("globex", "list errors", 0), None);
        assert_eq!(
            cache.get("acme", "list errors", -1),
            None,
            "the clock went back"
        );
        cache.put("acme", "list errors", 2, cache.0.mark());
        assert_eq!(cache.get("acme", "list errors", 1000), None);
        assert_eq!(cache.0.bytes, 0);
    }

    fn keyed(params: &Value) -> CacheKey {
        let (tenant, params) = ("acme".parse().unwrap(), params.as_object().unwrap());
        CacheKey::new(&tenant, CacheSubject::Words("x"), params)
    }

    #[test]
    fn parameters_distinguish_results_in_any_order() {
        assert_eq!(
            keyed(&json!({ "a": 1, "b": 2 })),
            keyed(&json!({ "b": 2, "a": 1 }))
        );
        assert_ne!(keyed(&json!({ "a": 1 })), keyed(&json!({ "a": "1" })));
    }

    #[test]
    fn a_changed_server_makes_its_results_stale_even_while_they_are_read() {
        let mut cache = Checked::new(9, 900);
        let before = cache.0.mark();
        cache.put("acme", "a", 1, before);
        cache.0.invalidate_server(&"mail".parse().unwrap());
        assert_eq!(cache.get("acme", "a", 0), Some(1));
        cache.0.invalidate_server(&"git".parse().unwrap());
        assert_eq!(cache.get("acme", "a", 0), None);
        cache.put("acme", "a", 2, before);
        assert_eq!(
            cache.get("acme", "a", 0),
            None,
            "it was read before the change"
        );
        cache.put("acme", "a", 3, cache.0.mark());
        assert_eq!(cache.get("acme", "a", 0), Some(3));
    }

    #[test]
    fn the_tenant_with_the_most_results_is_evicted_least_recently_used_first() {
        for (entries, bytes) in [(10, 9000), (99, 100)] {
            let mut cache = Checked::new(entries, bytes);
            for number in 0..9 {
                cache.put("acme", &format!("a {number}"), number, cache.0.mark());
            }
            assert_eq!(cache.get("acme", "a 0", 0), Some(0));
            cache.put("globex", "b", 20, cache.0.mark());
            cache.put("globex", "c", 21, cache.0.mark());
            let kept = ["a 0", "a 1", "a 2"].map(|words| cache.get("acme", words, 0));
            assert_eq!(kept, [Some(0), None, Some(2)]);
            assert_eq!(cache.get("globex", "b", 0), Some(20));
            assert_eq!(cache.get("globex", "c", 0), Some(21));
        }
    }
}
