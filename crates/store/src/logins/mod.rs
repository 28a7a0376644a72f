//! The logins at servers: one text per server, encrypted like the secrets.
//!
//! - [`lock`]: the lock for refreshing one

pub mod lock;

use kitbag_domain::{ServerName, Timestamp};

use crate::Error;
use crate::secrets::{SealedRow, Secret, Vault};

impl Vault {
    /// Stores a login in place of the server's current one.
    pub async fn put_login(
        &self,
        server: &ServerName,
        login: &Secret,
        at: Timestamp,
    ) -> Result<(), Error> {
        let sealed = self.seal(&sealed_for(server.as_str()), login).await?;
        self.engine
            .query(
                "INSERT INTO logins (server, sealed, updated_at) VALUES ($1, $2, $3)
                 ON CONFLICT (server) DO UPDATE SET sealed = excluded.sealed, updated_at = excluded.updated_at",
            )
            .bind(server.as_str())
            .bind(sealed)
            .bind(at.0)
            .execute("store a login")
            .await
            .map(drop)
    }

    pub async fn login(&self, server: &ServerName) -> Result<Option<Secret>, Error> {
        let sealed: Option<Vec<u8>> = self
            .engine
            .query("SELECT sealed FROM logins WHERE server = $1")
            .bind(server.as_str())
            .fetch_optional_scalar("read a login")
            .await?;
        let name = sealed_for(server.as_str());
        sealed.map(|sealed| self.open(&name, sealed)).transpose()
    }

    /// Returns every login as stored, with the name that it is sealed for.
    pub(crate) async fn sealed_logins(&self) -> Result<Vec<SealedRow>, Error> {
        let rows: Vec<SealedRow> = self
            .engine
            .query("SELECT server, sealed FROM logins ORDER BY server")
            .fetch_all("read the logins")
            .await?;
        let named = rows
            .into_iter()
            .map(|(server, sealed)| (sealed_for(&server), sealed));
        Ok(named.collect())
    }

    /// Returns true if there was a login.
    pub async fn remove_login(&self, server: &ServerName) -> Result<bool, Error> {
        self.engine
            .query("DELETE FROM logins WHERE server = $1")
            .bind(server.as_str())
            .execute_on_row("remove a login")
            .await
    }
}

/// The name that the login is sealed for. It contains spaces, unlike the name of a secret, so that
/// neither opens in the row of the other.
fn sealed_for(server: &str) -> String {
    format!("login of {server}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_store::{TestPlace, each_engine, execute};

    each_engine!(
        a_login_is_returned_for_its_server_only_and_is_in_no_file_in_plain_text,
        a_lost_key_is_not_replaced_while_there_is_a_login,
    );

    async fn a_login_is_returned_for_its_server_only_and_is_in_no_file_in_plain_text(
        place: TestPlace,
    ) {
        let store = place.open().await;
        let vault = store.vault(None);
        let [docs, other]: [ServerName; 2] = ["docs", "other"].map(|name| name.parse().unwrap());
        assert_eq!(vault.login(&docs).await.unwrap(), None);
        vault
            .put_login(&docs, &Secret::new("first-s3cret"), Timestamp(1))
            .await
            .unwrap();
        vault
            .put_login(&docs, &Secret::new("second-s3cret"), Timestamp(2))
            .await
            .unwrap();
        assert_eq!(
            vault.login(&docs).await.unwrap(),
            Some(Secret::new("second-s3cret"))
        );
        assert_eq!(vault.login(&other).await.unwrap(), None);
        assert!(vault.list_secrets().await.unwrap().is_empty());

        execute(&store, "UPDATE logins SET server = 'other'").await;
        assert!(matches!(
            vault.login(&other).await,
            Err(Error::Sealed { .. })
        ));
        assert!(vault.remove_login(&other).await.unwrap());
        assert!(!vault.remove_login(&other).await.unwrap());

        store.close().await;
        assert!(!place.holds("s3cret").await);
    }

    async fn a_lost_key_is_not_replaced_while_there_is_a_login(place: TestPlace) {
        let store = place.open().await;
        let docs: ServerName = "docs".parse().unwrap();
        store
            .vault(None)
            .put_login(&docs, &Secret::new("1"), Timestamp(1))
            .await
            .unwrap();
        std::fs::remove_file(place.key_file()).unwrap();
        let vault = store.vault(None);
        assert!(matches!(
            vault.login(&docs).await,
            Err(Error::SecretKeyMissing { .. })
        ));
        let error = vault
            .put_login(&docs, &Secret::new("2"), Timestamp(1))
            .await
            .unwrap_err();
        assert!(matches!(error, Error::SecretKeyMissing { .. }), "{error}");
    }
}
