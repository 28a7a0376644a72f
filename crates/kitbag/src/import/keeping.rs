//! Names for secrets that a person typed, on their way into the store.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use kitbag_config::{Config, KeyLocation};
use kitbag_domain::{Action, ServerName};
use kitbag_store::{Secret, SecretName, Store, StoreAddress};

use crate::trail;
use kitbag_gateway::secrets::vault::vault;
use kitbag_gateway::state::clock::now;
use kitbag_gateway::state::store_address::{store_address, store_may_exist};

/// The secrets that are in the store, and those that are to go there.
#[derive(Default)]
pub(crate) struct Keeping {
    /// The names of all secrets, also of those whose value cannot be read without the key.
    names: BTreeSet<String>,
    known: BTreeMap<String, String>,
    fresh: Vec<(SecretName, String)>,
    /// Names for secrets that have no value yet, by the file that asks and its name for each of
    /// them.
    wanted: BTreeMap<(PathBuf, String), SecretName>,
}

impl Keeping {
    /// A store that does not exist yet is not made for this.
    pub(crate) async fn of(config: &Config) -> anyhow::Result<Self> {
        if !store_may_exist(config) {
            return Ok(Self::default());
        }
        let store = Store::open(store_address(config)?)
            .await
            .context("the secrets cannot be reached")?;
        let vault = vault(config.secret_key, &store)?;
        let names = vault
            .list()
            .await?
            .iter()
            .map(|it| it.name.as_str().to_owned())
            .collect();
        // Even if the key is gone, the names still say which are taken.
        let opened = vault.open_all().await.unwrap_or_default();
        let known = opened
            .iter()
            .map(|(name, it)| (name.as_str().to_owned(), it.reveal().to_owned()));
        let known = known.collect();
        store.close().await;
        Ok(Self {
            names,
            known,
            ..Self::default()
        })
    }

    /// Returns the reference to the secret for our configuration; the secret is kept once, no
    /// matter how many servers use it.
    pub(crate) fn keep(&mut self, server: &ServerName, what: &str, secret: &str) -> String {
        if let Some(name) = self.kept_as(server, what, secret) {
            return format!("${{secret:{name}}}");
        }
        let name = self.free_name(server, what);
        self.names.insert(name.as_str().to_owned());
        let spelt = format!("${{secret:{name}}}");
        self.fresh.push((name, secret.to_owned()));
        spelt
    }

    /// Returns the name under which the secret is kept for this server or this purpose.
    fn kept_as(&self, server: &ServerName, what: &str, secret: &str) -> Option<&str> {
        let fresh = self.fresh.iter().map(|(name, it)| (name.as_str(), it));
        let known = self.known.iter().map(|(name, it)| (name.as_str(), it));
        fresh
            .chain(known)
            .filter(|(_, value)| *value == secret)
            .map(|(name, _)| name)
            .find(|name| name.starts_with(server.as_str()) || fits(name, what))
    }

    /// Returns the reference to a secret that a file only names. The reference has a name that no
    /// secret has: a client's file must not decide which of our secrets a server gets.
    pub(crate) fn want(&mut self, file: &Path, server: &ServerName, what: &str) -> String {
        let key = (file.to_owned(), what.to_owned());
        let name = match self.wanted.get(&key) {
            Some(name) => name.clone(),
            None => self.free_name(server, what),
        };
        self.wanted.insert(key, name.clone());
        format!("${{secret:{name}}}")
    }

    /// The name under which a secret is wanted that a file calls `what`.
    pub(crate) fn wanted(&self, file: &Path, what: &str) -> Option<&SecretName> {
        self.wanted.get(&(file.to_owned(), what.to_owned()))
    }

    pub(crate) fn has(&self, name: &str) -> bool {
        self.names.contains(name)
    }

    pub(crate) fn known(&self) -> &BTreeMap<String, String> {
        &self.known
    }

    /// Encrypts fresh secrets into the store; without fresh secrets, no store is made.
    pub(crate) async fn put_down(
        &self,
        store: &StoreAddress,
        key: KeyLocation,
    ) -> anyhow::Result<()> {
        if self.fresh.is_empty() {
            return Ok(());
        }
        let store = Store::open(store)
            .await
            .context("the secrets cannot be kept")?;
        let vault = vault(key, &store)?;
        for (name, value) in &self.fresh {
            vault.put(name, &Secret::new(value), now()).await?;
            let event = trail::change(&trail::typed(), Action::SecretSet, name.as_str());
            trail::record(&store, event).await?;
        }
        store.close().await;
        Ok(())
    }

    pub(crate) fn mark(&self) -> usize {
        self.fresh.len()
    }

    pub(crate) fn since(&self, mark: usize) -> Vec<String> {
        self.fresh[mark..]
            .iter()
            .map(|(name, _)| name.as_str().to_owned())
            .collect()
    }

    /// Forgets the secrets that were to be kept since the mark.
    pub(crate) fn back_to(&mut self, mark: usize) {
        for (name, _) in self.fresh.drain(mark..) {
            self.names.remove(name.as_str());
        }
    }

    /// Returns a name such as `github.TOKEN`, or one with a number if that is taken.
    fn free_name(&self, server: &ServerName, what: &str) -> SecretName {
        let what: String = what.chars().map(in_a_name).collect();
        let mut base = format!("{server}.{what}");
        base.truncate(SecretName::MAX - NUMBER);
        let numbered = (2_u32..).map(|number| format!("{base}-{number}"));
        let mut names = [base.clone()].into_iter().chain(numbered);
        let free = names
            .find(|name| !self.is_taken(name))
            .expect("there are more numbers than secrets");
        free.parse().expect("made of letters that a name may have")
    }

    fn is_taken(&self, name: &str) -> bool {
        self.names.contains(name) || self.wanted.values().any(|wanted| wanted.as_str() == name)
    }
}

/// Returns the letter, or one in its place that a name may have.
fn in_a_name(letter: char) -> char {
    if letter.is_ascii_alphanumeric() || matches!(letter, '-' | '_') {
        letter
    } else {
        '_'
    }
}

/// The number of characters reserved for a number behind a name.
const NUMBER: usize = 8;

fn fits(name: &str, what: &str) -> bool {
    name.rsplit('.').next() == Some(what)
}

impl std::fmt::Debug for Keeping {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Keeping")
            .field("names", &self.names)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_kept_once_and_two_never_share_a_name() {
        let mut keeping = Keeping::default();
        let (git, lab): (ServerName, ServerName) = ("git".parse().unwrap(), "lab".parse().unwrap());
        assert_eq!(keeping.keep(&git, "X-Token", "a"), "${secret:git.X-Token}");
        let mark = keeping.mark();
        assert_eq!(
            keeping.keep(&git, "X-Token", "b"),
            "${secret:git.X-Token-2}"
        );
        assert_eq!(keeping.since(mark), ["git.X-Token-2"]);
        keeping.back_to(mark);
        assert_eq!(keeping.keep(&git, "argument", "a"), "${secret:git.X-Token}");
        assert_eq!(keeping.keep(&lab, "X-Token", "a"), "${secret:git.X-Token}");
        assert_eq!(keeping.keep(&lab, "a/b", "c"), "${secret:lab.a_b}");
        assert!(keeping.has("lab.a_b") && keeping.fresh.len() == 2);
        assert!(keeping.keep(&lab, &"x".repeat(90), "d").len() < 80);
    }

    #[test]
    fn a_secret_that_a_file_only_names_gets_a_name_that_no_other_has() {
        let mut keeping = Keeping::default();
        keeping.names.insert("git.token".to_owned());
        let git: ServerName = "git".parse().unwrap();
        let (one, other) = (Path::new("/a"), Path::new("/b"));
        assert_eq!(keeping.want(one, &git, "token"), "${secret:git.token-2}");
        assert_eq!(keeping.want(one, &git, "token"), "${secret:git.token-2}");
        assert_eq!(keeping.want(other, &git, "token"), "${secret:git.token-3}");
        assert_eq!(
            keeping.keep(&git, "token", "typed"),
            "${secret:git.token-4}"
        );
        assert!(!keeping.has("git.token-2") && keeping.wanted(one, "token").is_some());
    }
}
