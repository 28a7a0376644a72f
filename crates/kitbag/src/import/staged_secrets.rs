//! Secrets to be added to the store, and the names for them.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use kitbag_config::{Config, KeyLocation};
use kitbag_domain::{Action, ServerName};
use kitbag_store::{Secret, SecretName, Store, StoreAddress};

use crate::trail;
use kitbag_gateway::secrets::vault::open_vault;
use kitbag_gateway::state::clock::now;
use kitbag_gateway::state::store_address::{store_address, store_may_exist};

/// The secrets in the store and the secrets to add to it.
#[derive(Default)]
pub(crate) struct StagedSecrets {
    /// The names of all secrets, including secrets that cannot be decrypted.
    names: BTreeSet<String>,
    stored: BTreeMap<String, String>,
    staged: Vec<(SecretName, String)>,
    /// Names for secrets without a value, by the client's file and the name in it.
    reserved: BTreeMap<(PathBuf, String), SecretName>,
}

impl StagedSecrets {
    /// Loads the secrets of the store. Does not create the store.
    pub(crate) async fn load(config: &Config) -> anyhow::Result<Self> {
        if !store_may_exist(config) {
            return Ok(Self::default());
        }
        let store = Store::open(store_address(config)?)
            .await
            .context("cannot read the stored secrets")?;
        let vault = open_vault(config.secret_key, &store)?;
        let names = vault
            .list_secrets()
            .await?
            .iter()
            .map(|it| it.name.as_str().to_owned())
            .collect();
        // Without the key, the names still show which are taken.
        let opened = vault.open_all().await.unwrap_or_default();
        let stored = opened
            .iter()
            .map(|(name, it)| (name.as_str().to_owned(), it.reveal().to_owned()));
        let stored = stored.collect();
        store.close().await;
        Ok(Self {
            names,
            stored,
            ..Self::default()
        })
    }

    /// Stages the secret and returns the reference to it for the configuration. Several servers can
    /// share a secret.
    pub(crate) fn stage(&mut self, server: &ServerName, what: &str, secret: &str) -> String {
        if let Some(name) = self.find_name(server, what, secret) {
            return format!("${{secret:{name}}}");
        }
        let name = self.free_name(server, what);
        self.names.insert(name.as_str().to_owned());
        let reference = format!("${{secret:{name}}}");
        self.staged.push((name, secret.to_owned()));
        reference
    }

    /// Returns the name of the secret if it exists for this server or purpose.
    fn find_name(&self, server: &ServerName, what: &str, secret: &str) -> Option<&str> {
        let staged = self.staged.iter().map(|(name, it)| (name.as_str(), it));
        let stored = self.stored.iter().map(|(name, it)| (name.as_str(), it));
        staged
            .chain(stored)
            .filter(|(_, value)| *value == secret)
            .map(|(name, _)| name)
            .find(|name| name.starts_with(server.as_str()) || name.rsplit('.').next() == Some(what))
    }

    /// Returns a reference for a secret that the file only names. The name is new: a client's file
    /// must not choose which stored secret a server gets.
    pub(crate) fn reserve_name(&mut self, file: &Path, server: &ServerName, what: &str) -> String {
        let key = (file.to_owned(), what.to_owned());
        let name = match self.reserved.get(&key) {
            Some(name) => name.clone(),
            None => self.free_name(server, what),
        };
        self.reserved.insert(key, name.clone());
        format!("${{secret:{name}}}")
    }

    /// Returns the name reserved for the secret that the file calls `what`.
    pub(crate) fn reserved_name(&self, file: &Path, what: &str) -> Option<&SecretName> {
        self.reserved.get(&(file.to_owned(), what.to_owned()))
    }

    pub(crate) fn contains(&self, name: &str) -> bool {
        self.names.contains(name)
    }

    pub(crate) fn stored_values(&self) -> &BTreeMap<String, String> {
        &self.stored
    }

    /// Encrypts the staged secrets into the store. Does not create a store if there are none.
    /// `verb` is the command or page that adds them.
    pub(crate) async fn save(
        &self,
        store: &StoreAddress,
        key: KeyLocation,
        verb: &str,
    ) -> anyhow::Result<()> {
        if self.staged.is_empty() {
            return Ok(());
        }
        let store = Store::open(store)
            .await
            .context("cannot store the secrets")?;
        let vault = open_vault(key, &store)?;
        for (name, value) in &self.staged {
            vault.put_secret(name, &Secret::new(value), now()).await?;
            let event = trail::change_event(verb, Action::SecretSet, name.as_str());
            trail::record_event(&store, event).await?;
        }
        store.close().await;
        Ok(())
    }

    pub(crate) fn checkpoint(&self) -> usize {
        self.staged.len()
    }

    pub(crate) fn staged_since(&self, checkpoint: usize) -> Vec<String> {
        self.staged[checkpoint..]
            .iter()
            .map(|(name, _)| name.as_str().to_owned())
            .collect()
    }

    /// Removes the secrets staged since the checkpoint.
    pub(crate) fn roll_back(&mut self, checkpoint: usize) {
        for (name, _) in self.staged.drain(checkpoint..) {
            self.names.remove(name.as_str());
        }
    }

    /// Returns a name such as `github.TOKEN`, with a number if it is taken.
    fn free_name(&self, server: &ServerName, what: &str) -> SecretName {
        let is_allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
        let what = what.replace(|c| !is_allowed(c), "_");
        let mut base = format!("{server}.{what}");
        base.truncate(SecretName::MAX - SUFFIX_CHARS);
        let numbered = (2_u32..).map(|number| format!("{base}-{number}"));
        let mut names = [base.clone()].into_iter().chain(numbered);
        let free = names
            .find(|name| {
                let mut reserved = self.reserved.values();
                !self.names.contains(name) && reserved.all(|wanted| wanted.as_str() != name)
            })
            .expect("there are more numbers than secrets");
        free.parse()
            .expect("made of characters that a name may contain")
    }
}

/// The length reserved for a number after the name.
const SUFFIX_CHARS: usize = 8;

impl std::fmt::Debug for StagedSecrets {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("StagedSecrets")
            .field("names", &self.names)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_staged_once_and_two_never_share_a_name() {
        let mut secrets = StagedSecrets::default();
        let (git, lab): (ServerName, ServerName) = ("git".parse().unwrap(), "lab".parse().unwrap());
        assert_eq!(secrets.stage(&git, "X-Token", "a"), "${secret:git.X-Token}");
        let mark = secrets.checkpoint();
        assert_eq!(
            secrets.stage(&git, "X-Token", "b"),
            "${secret:git.X-Token-2}"
        );
        assert_eq!(secrets.staged_since(mark), ["git.X-Token-2"]);
        secrets.roll_back(mark);
        assert_eq!(
            secrets.stage(&git, "argument", "a"),
            "${secret:git.X-Token}"
        );
        assert_eq!(secrets.stage(&lab, "X-Token", "a"), "${secret:git.X-Token}");
        assert_eq!(secrets.stage(&lab, "a/b", "c"), "${secret:lab.a_b}");
        assert!(secrets.contains("lab.a_b") && secrets.staged.len() == 2);
        assert!(secrets.stage(&lab, &"x".repeat(90), "d").len() < 80);
    }

    #[test]
    fn a_secret_that_a_file_only_names_gets_a_new_name() {
        let mut secrets = StagedSecrets::default();
        secrets.names.insert("git.token".to_owned());
        let git: ServerName = "git".parse().unwrap();
        let (one, other) = (Path::new("/a"), Path::new("/b"));
        assert_eq!(
            secrets.reserve_name(one, &git, "token"),
            "${secret:git.token-2}"
        );
        assert_eq!(
            secrets.reserve_name(one, &git, "token"),
            "${secret:git.token-2}"
        );
        assert_eq!(
            secrets.reserve_name(other, &git, "token"),
            "${secret:git.token-3}"
        );
        assert_eq!(
            secrets.stage(&git, "token", "typed"),
            "${secret:git.token-4}"
        );
        assert!(!secrets.contains("git.token-2") && secrets.reserved_name(one, "token").is_some());
    }
}
