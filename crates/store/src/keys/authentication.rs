//! Verifies a key by the keyed hash of its secret, and records its use.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use kitbag_domain::{Caller, KeyId, Timestamp};

use super::cache::{CachedKey, SharedKey};
use super::row::read_record;
use super::{ID_BYTES, KEY_PREFIX, SECRET_BYTES};
use crate::engine::Engine;
use crate::{Error, Store};

/// The result of presenting a token. A revoked or expired key is reported as such only to a client
/// that knows its secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Recognition {
    Known(Caller),
    /// Malformed, of an unknown id, or with a wrong secret.
    Unknown,
    Revoked(KeyId),
    Expired(KeyId),
}

/// How long a request waits for the row of a cached key.
const ROW_TIMEOUT: Duration = Duration::from_secs(1);

impl Store {
    /// Finds the caller that this token belongs to.
    ///
    /// A key that this process has seen is verified from its cache. A key revoked by another
    /// process is rejected within a second, and one revoked by this process at once. PostgreSQL
    /// notifies this process; while that does not work, the cache is trusted for only a second, as
    /// on SQLite. While the database does not answer at all, the cache is trusted for five minutes.
    pub async fn authenticate(&self, token: &str, at: Timestamp) -> Result<Recognition, Error> {
        let Some(presented) = PresentedToken::parse(token) else {
            return Ok(Recognition::Unknown);
        };
        if let Engine::Postgres(_) = &self.engine {
            self.feed.start(&self.engine);
        }
        let hash = self.key_cache.hash_secret(presented.secret);
        let Some(key) = self.cached_key(presented.id).await? else {
            return Ok(Recognition::Unknown);
        };
        let recognition = key.check_hash(presented.id, &hash, at);
        if matches!(recognition, Recognition::Known(_)) {
            self.key_cache.record_use(presented.id, at);
        }
        Ok(recognition)
    }

    /// Writes the last uses of keys that the table does not have yet.
    pub async fn flush_key_uses(&self) -> Result<(), Error> {
        let unwritten = self.key_cache.unwritten_uses();
        if unwritten.is_empty() {
            return Ok(());
        }
        const ACTION: &str = "record the use of keys";
        let mut transaction = self.engine.begin(ACTION).await?;
        // Unless another process has seen a later use. PostgreSQL locks the rows in id order, so
        // that two gateways do not deadlock.
        let update = transaction.pick(
            "UPDATE api_keys SET last_used_at = max(coalesce(last_used_at, 0), used.at)
             FROM (SELECT key AS id, value AS at FROM json_each($1)) AS used WHERE api_keys.id = used.id",
            "WITH used AS (SELECT key AS id, value::bigint AS at FROM json_each_text($1::json)),
                  locked AS (SELECT id FROM api_keys JOIN used USING (id) ORDER BY id FOR UPDATE OF api_keys)
             UPDATE api_keys SET last_used_at = greatest(last_used_at, used.at)
             FROM used JOIN locked USING (id) WHERE api_keys.id = used.id",
        );
        let uses = unwritten.iter().map(|(id, at)| (id.as_str(), at.0));
        let uses: BTreeMap<&str, i64> = uses.collect();
        let uses = serde_json::json!(uses).to_string();
        transaction.query(update).bind(uses).execute(ACTION).await?;
        transaction.commit(ACTION).await?;
        self.key_cache.mark_uses_written(&unwritten);
        Ok(())
    }

    async fn cached_key(&self, id: &str) -> Result<Option<CachedKey>, Error> {
        if let Some(known) = self.key_cache.get(id) {
            return self.refresh_cached_key(id, known).await;
        }
        let read = self.read_key(id).await?;
        if let Some(key) = &read {
            self.key_cache.add_if_absent(id, key.clone());
        }
        Ok(read)
    }

    async fn refresh_cached_key(
        &self,
        id: &str,
        known: SharedKey,
    ) -> Result<Option<CachedKey>, Error> {
        let mut key = known.lock().await;
        if !key.needs_refresh(&self.feed) {
            return Ok(Some(key.clone()));
        }
        let reading = tokio::time::timeout(ROW_TIMEOUT, self.read_key(id));
        match (reading.await, key.is_trusted_while_unavailable()) {
            (Ok(Ok(Some(read))), _) => *key = read,
            (Ok(Ok(None)), _) => return Ok(None),
            (Err(_silent), true) => key.mark_unanswered(),
            (Ok(Err(error)), true) if error.is_transient() => key.mark_unanswered(),
            (Err(_silent), false) => return Err(Error::Silent { limit: ROW_TIMEOUT }),
            (Ok(Err(error)), _) => return Err(error),
        }
        Ok(Some(key.clone()))
    }

    async fn read_key(&self, id: &str) -> Result<Option<CachedKey>, Error> {
        // Taken before the table is read, so that the entry never appears newer than it is.
        let (read_at, changes) = (Instant::now(), self.feed.key_change_count());
        let row = self
            .engine
            .query(
                "SELECT tenant, role, secret_hash, expires_at, revoked_at IS NOT NULL
                 FROM api_keys WHERE id = $1",
            )
            .bind(id)
            .fetch_optional("look up a key")
            .await?;
        let record = row.map(read_record).transpose()?;
        Ok(record.map(|record| CachedKey::new(record, read_at, changes)))
    }
}

/// A well-formed token; its secret is still unchecked.
struct PresentedToken<'a> {
    id: &'a str,
    secret: &'a str,
}

impl<'a> PresentedToken<'a> {
    fn parse(token: &'a str) -> Option<Self> {
        let (id, secret) = token.strip_prefix(KEY_PREFIX)?.split_once('_')?;
        let fits = is_hex(id, ID_BYTES) && is_hex(secret, SECRET_BYTES);
        fits.then_some(Self { id, secret })
    }
}

fn is_hex(text: &str, bytes: usize) -> bool {
    text.len() == 2 * bytes
        && text
            .bytes()
            .all(|it| matches!(it, b'0'..=b'9' | b'a'..=b'f'))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::keys::{KeySpec, NewKey, to_hex};
    use crate::test_store::{TestPlace, each_engine};

    each_engine!(
        a_key_is_recognized_for_its_tenant_even_after_a_restart,
        nothing_but_the_exact_token_is_recognized,
        an_operators_key_is_recognized,
        a_revoked_key_is_no_longer_recognized,
        a_key_is_recognized_until_it_expires,
        a_key_revoked_elsewhere_is_refused_within_two_seconds,
        a_key_that_was_found_inactive_is_rejected_from_then_on,
        a_key_created_elsewhere_works_at_once,
        the_last_use_is_written_once_a_minute_at_most,
        a_secret_is_neither_printed_nor_stored,
    );

    const NOW: Timestamp = Timestamp(10);

    async fn create_key(store: &Store) -> NewKey {
        store
            .create_key(&KeySpec::user("acme".parse().unwrap()), Timestamp(5))
            .await
            .unwrap()
    }

    async fn authenticate_token(store: &Store, token: &str) -> Recognition {
        store.authenticate(token, NOW).await.unwrap()
    }

    fn known_recognition(key: &NewKey) -> Recognition {
        Recognition::Known(Caller::user("acme".parse().unwrap(), key.id.clone()))
    }

    async fn a_key_is_recognized_for_its_tenant_even_after_a_restart(place: TestPlace) {
        let store = place.open().await;
        let key = create_key(&store).await;
        assert_eq!(
            authenticate_token(&store, key.token.reveal()).await,
            known_recognition(&key)
        );
        assert_eq!(
            authenticate_token(&store, key.token.reveal()).await,
            known_recognition(&key),
            "from memory"
        );
        store.close().await;
        let store = place.open().await;
        assert_eq!(
            authenticate_token(&store, key.token.reveal()).await,
            known_recognition(&key)
        );
    }

    async fn nothing_but_the_exact_token_is_recognized(place: TestPlace) {
        let store = place.open().await;
        let (key, other) = (create_key(&store).await, create_key(&store).await);
        let token = key.token.reveal();
        let (head, secret) = token.rsplit_once('_').unwrap();
        let (other_head, _) = other.token.reveal().rsplit_once('_').unwrap();
        let last = if secret.ends_with('0') { "1" } else { "0" };
        for wrong in [
            String::new(),
            "kb_".to_owned(),
            "kb__".to_owned(),
            head.to_owned(),
            secret.to_owned(),
            format!("{head}_"),
            format!("{other_head}_{secret}"),
            format!("{}{last}", &token[..token.len() - 1]),
            format!("{token} "),
            token.to_uppercase(),
            format!("kb_00000000_{secret}"),
            "kb_é_é".to_owned(),
        ] {
            assert_eq!(
                authenticate_token(&store, &wrong).await,
                Recognition::Unknown,
                "{wrong}"
            );
        }
        assert_eq!(
            authenticate_token(&store, token).await,
            known_recognition(&key)
        );
    }

    async fn an_operators_key_is_recognized(place: TestPlace) {
        let store = place.open().await;
        let key = store
            .create_key(&KeySpec::operator(), Timestamp(5))
            .await
            .unwrap();
        let operator = Recognition::Known(Caller::operator(key.id.clone()));
        assert_eq!(
            authenticate_token(&store, key.token.reveal()).await,
            operator
        );
    }

    async fn a_revoked_key_is_no_longer_recognized(place: TestPlace) {
        let store = place.open().await;
        let key = create_key(&store).await;
        assert_eq!(
            authenticate_token(&store, key.token.reveal()).await,
            known_recognition(&key)
        );
        assert!(store.revoke_key(&key.id, Timestamp(9)).await.unwrap());
        assert_eq!(
            authenticate_token(&store, key.token.reveal()).await,
            Recognition::Unknown
        );
        assert_eq!(
            authenticate_token(&store, key.token.reveal()).await,
            Recognition::Unknown,
            "from memory"
        );
        assert!(
            !store.revoke_key(&key.id, Timestamp(10)).await.unwrap(),
            "revoked twice"
        );
        assert_eq!(
            store.list_keys().await.unwrap()[0].revoked_at,
            Some(Timestamp(9))
        );
        let later = place.open().await;
        assert_eq!(
            authenticate_token(&later, key.token.reveal()).await,
            Recognition::Revoked(key.id)
        );
    }

    async fn a_key_is_recognized_until_it_expires(place: TestPlace) {
        let store = place.open().await;
        let spec = KeySpec {
            expires_at: Some(Timestamp(100)),
            ..KeySpec::user("acme".parse().unwrap())
        };
        let key = store.create_key(&spec, Timestamp(5)).await.unwrap();
        let at = async |at| {
            store
                .authenticate(key.token.reveal(), Timestamp(at))
                .await
                .unwrap()
        };
        assert_eq!(at(99).await, known_recognition(&key));
        assert_eq!(at(100).await, Recognition::Expired(key.id.clone()));
        assert!(store.has_active_keys(Timestamp(99)).await.unwrap());
        assert!(!store.has_active_keys(Timestamp(100)).await.unwrap());
        let mut wrong = key.token.reveal().to_owned();
        let last = if wrong.ends_with('0') { "1" } else { "0" };
        wrong.replace_range(wrong.len() - 1.., last);
        let guessed = store.authenticate(&wrong, Timestamp(100)).await.unwrap();
        assert_eq!(
            guessed,
            Recognition::Unknown,
            "a wrong secret does not learn that the key has expired"
        );
    }

    async fn a_key_revoked_elsewhere_is_refused_within_two_seconds(place: TestPlace) {
        let here = place.open().await;
        let elsewhere = place.open().await;
        let key = create_key(&here).await;
        assert_eq!(
            authenticate_token(&here, key.token.reveal()).await,
            known_recognition(&key)
        );
        elsewhere.revoke_key(&key.id, Timestamp(9)).await.unwrap();
        let refused = async {
            while authenticate_token(&here, key.token.reveal()).await == known_recognition(&key) {
                tokio::task::yield_now().await;
            }
        };
        tokio::time::timeout(Duration::from_secs(2), refused)
            .await
            .expect("the revocation was noticed");
    }

    async fn a_key_that_was_found_inactive_is_rejected_from_then_on(place: TestPlace) {
        let here = place.open().await;
        let elsewhere = place.open().await;
        let key = create_key(&here).await;
        assert_eq!(
            authenticate_token(&here, key.token.reveal()).await,
            known_recognition(&key)
        );
        elsewhere.revoke_key(&key.id, Timestamp(9)).await.unwrap();
        let ended = here
            .inactive_keys(std::slice::from_ref(&key.id), NOW)
            .await
            .unwrap();
        assert_eq!(ended, std::slice::from_ref(&key.id));
        assert_eq!(
            authenticate_token(&here, key.token.reveal()).await,
            Recognition::Revoked(key.id)
        );
    }

    async fn a_key_created_elsewhere_works_at_once(place: TestPlace) {
        let here = place.open().await;
        let elsewhere = place.open().await;
        let key = create_key(&elsewhere).await;
        assert_eq!(
            authenticate_token(&here, key.token.reveal()).await,
            known_recognition(&key)
        );
    }

    async fn the_last_use_is_written_once_a_minute_at_most(place: TestPlace) {
        let store = place.open().await;
        let key = create_key(&store).await;
        let written = async |at| {
            store
                .authenticate(key.token.reveal(), Timestamp(at))
                .await
                .unwrap();
            store.flush_key_uses().await.unwrap();
            store.list_keys().await.unwrap()[0].last_used_at
        };
        assert_eq!(store.list_keys().await.unwrap()[0].last_used_at, None);
        assert_eq!(written(1_000).await, Some(Timestamp(1_000)));
        assert_eq!(
            written(60_999).await,
            Some(Timestamp(1_000)),
            "not a minute later"
        );
        assert_eq!(written(61_000).await, Some(Timestamp(61_000)));
        store
            .authenticate("kb_00000000_nothing", Timestamp(900_000))
            .await
            .unwrap();
        assert_eq!(
            store.list_keys().await.unwrap()[0].last_used_at,
            Some(Timestamp(61_000))
        );
    }

    async fn a_secret_is_neither_printed_nor_stored(place: TestPlace) {
        let store = place.open().await;
        let key = create_key(&store).await;
        authenticate_token(&store, key.token.reveal()).await;
        let (_, secret) = key.token.reveal().rsplit_once('_').unwrap();
        let hash = to_hex(store.key_cache.hash_secret(secret).as_bytes());
        let printed = format!("{key:?} {store:?}");
        assert!(
            !printed.contains(secret) && !printed.contains(&hash),
            "{printed}"
        );

        store.close().await;
        assert!(!place.holds(secret).await);
    }
}
