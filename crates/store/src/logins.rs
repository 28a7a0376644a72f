//! The logins at servers: one text for each server, encrypted like the secrets.

use kitbag_domain::{ServerName, Timestamp};

use crate::secrets::{Secret, Vault};
use crate::{Error, failed, unreadable};

impl Vault {
    /// Keeps a login in place of the one that the server has so far.
    pub async fn put_login(
        &self,
        server: &ServerName,
        login: &Secret,
        at: Timestamp,
    ) -> Result<(), Error> {
        let sealed = self.key_for_writing().await?.seal(&place(server), login);
        sqlx::query(
            "INSERT INTO logins (server, sealed, updated_at) VALUES (?, ?, ?)
             ON CONFLICT (server) DO UPDATE SET sealed = excluded.sealed, updated_at = excluded.updated_at",
        )
        .bind(server.as_str())
        .bind(sealed)
        .bind(at.0)
        .execute(&self.sqlite.writer)
        .await
        .map_err(failed("keep a login"))?;
        Ok(())
    }

    pub async fn login(&self, server: &ServerName) -> Result<Option<Secret>, Error> {
        let sealed: Option<Vec<u8>> =
            sqlx::query_scalar("SELECT sealed FROM logins WHERE server = ?")
                .bind(server.as_str())
                .fetch_optional(&self.sqlite.reader)
                .await
                .map_err(failed("read a login"))?;
        sealed
            .map(|sealed| self.open_login(server, sealed))
            .transpose()
    }

    fn open_login(&self, server: &ServerName, sealed: Vec<u8>) -> Result<Secret, Error> {
        let name = place(server);
        let opened = self.key_for_reading()?.open(&name, sealed);
        opened.ok_or(Error::Sealed { name })
    }

    /// Fails unless the key at hand opens every login.
    pub(crate) async fn check_logins(&self) -> Result<(), Error> {
        let servers: Vec<String> = sqlx::query_scalar("SELECT server FROM logins")
            .fetch_all(&self.sqlite.reader)
            .await
            .map_err(failed("read the logins"))?;
        for server in servers {
            let server = server
                .parse()
                .map_err(|_| unreadable("name of a server", &server))?;
            self.login(&server).await?;
        }
        Ok(())
    }

    /// Returns true if there was a login.
    pub async fn remove_login(&self, server: &ServerName) -> Result<bool, Error> {
        let done = sqlx::query("DELETE FROM logins WHERE server = ?")
            .bind(server.as_str())
            .execute(&self.sqlite.writer)
            .await
            .map_err(failed("remove a login"))?;
        Ok(done.rows_affected() == 1)
    }
}

/// The name that the login is sealed for. It has blanks and the name of a secret has none, so that
/// neither opens in the row of the other.
fn place(server: &ServerName) -> String {
    format!("login of {server}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{path, store};

    #[tokio::test]
    async fn a_login_comes_back_for_its_server_only_and_is_in_no_file_in_the_clear() {
        let (directory, store) = store().await;
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
        assert!(vault.list().await.unwrap().is_empty());

        sqlx::query("UPDATE logins SET server = 'other'")
            .execute(&store.sqlite.writer)
            .await
            .unwrap();
        assert!(matches!(
            vault.login(&other).await,
            Err(Error::Sealed { .. })
        ));
        assert!(vault.remove_login(&other).await.unwrap());
        assert!(!vault.remove_login(&other).await.unwrap());

        store.close().await;
        for file in std::fs::read_dir(directory.path().join("data")).unwrap() {
            let bytes = std::fs::read(file.unwrap().path()).unwrap();
            assert!(!bytes.windows(6).any(|window| window == b"s3cret"));
        }
    }

    #[tokio::test]
    async fn a_lost_key_is_not_replaced_while_there_is_a_login() {
        let (directory, store) = store().await;
        let docs: ServerName = "docs".parse().unwrap();
        store
            .vault(None)
            .put_login(&docs, &Secret::new("1"), Timestamp(1))
            .await
            .unwrap();
        std::fs::remove_file(path(&directory).with_file_name("secret.key")).unwrap();
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
