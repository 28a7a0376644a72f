//! The credentials with which tools call APIs: a few named fields per tenant, encrypted like the
//! secrets.
//!
//! - `credential`: the types

mod credential;

use kitbag_domain::{Tenant, Timestamp};
use kitbag_tool_spec::CredentialName;

pub use credential::{
    CredentialChange, CredentialFields, CredentialHolder, CredentialInfo, CredentialKey,
};

use crate::lock::StoreLock;
use crate::secrets::{SealedRow, Secret, Vault};
use crate::{Error, skip_unreadable, unreadable_error};

impl Vault {
    /// Sets some fields of a credential and removes others; the rest stays. A credential without
    /// fields is deleted. Returns the resulting fields.
    pub async fn change_credential(
        &self,
        key: &CredentialKey,
        change: CredentialChange,
        at: Timestamp,
    ) -> Result<CredentialFields, Error> {
        // A token refresh and an operator who sets a field may coincide.
        let _guard = StoreLock::acquire(self.address(), "credentials.lock", "credentials").await?;
        let mut fields = self.open_credential_key(key).await?.unwrap_or_default();
        change.apply(&mut fields);
        if fields.is_empty() {
            self.remove_credential(key).await?;
            return Ok(fields);
        }
        let text = Secret::new(fields.to_json());
        let sealed = self.seal(&key.sealed_name(), &text).await?;
        self.engine
            .query(
                "INSERT INTO credentials (tenant, name, fields, sealed, updated_at) VALUES ($1, $2, $3, $4, $5)
                 ON CONFLICT (tenant, name) DO UPDATE
                 SET fields = excluded.fields, sealed = excluded.sealed, updated_at = excluded.updated_at",
            )
            .bind(key.holder.to_column())
            .bind(key.name.as_str())
            .bind(fields.names().join("\n"))
            .bind(sealed)
            .bind(at.0)
            .execute("store a credential")
            .await?;
        Ok(fields)
    }

    /// Returns the credential of that name for a tenant: its own, or else the one for all tenants.
    pub async fn find_credential(
        &self,
        tenant: &Tenant,
        name: &CredentialName,
    ) -> Result<Option<(CredentialKey, CredentialFields)>, Error> {
        for holder in [
            CredentialHolder::Tenant(tenant.clone()),
            CredentialHolder::AllTenants,
        ] {
            let key = CredentialKey {
                holder,
                name: name.clone(),
            };
            if let Some(fields) = self.open_credential_key(&key).await? {
                return Ok(Some((key, fields)));
            }
        }
        Ok(None)
    }

    async fn open_credential_key(
        &self,
        key: &CredentialKey,
    ) -> Result<Option<CredentialFields>, Error> {
        let sealed: Option<Vec<u8>> = self
            .engine
            .query("SELECT sealed FROM credentials WHERE tenant = $1 AND name = $2")
            .bind(key.holder.to_column())
            .bind(key.name.as_str())
            .fetch_optional_scalar("read a credential")
            .await?;
        let Some(sealed) = sealed else {
            return Ok(None);
        };
        let name = key.sealed_name();
        let text = self.open(&name, sealed)?;
        let fields = CredentialFields::from_json(text.reveal());
        fields
            .map(Some)
            .ok_or_else(|| unreadable_error("fields of a credential", name))
    }

    /// Returns all credentials, without the values.
    pub async fn list_credentials(&self) -> Result<Vec<CredentialInfo>, Error> {
        let rows = self
            .engine
            .query("SELECT tenant, name, fields, updated_at FROM credentials ORDER BY name, tenant")
            .fetch_all("list the credentials")
            .await?;
        Ok(skip_unreadable(rows, CredentialInfo::from_row))
    }

    /// Returns true if there was such a credential.
    pub async fn remove_credential(&self, key: &CredentialKey) -> Result<bool, Error> {
        self.engine
            .query("DELETE FROM credentials WHERE tenant = $1 AND name = $2")
            .bind(key.holder.to_column())
            .bind(key.name.as_str())
            .execute_on_row("remove a credential")
            .await
    }

    /// Returns every credential as stored, with the name that it is sealed for.
    pub(crate) async fn sealed_credentials(&self) -> Result<Vec<SealedRow>, Error> {
        let rows: Vec<(String, String, Vec<u8>)> = self
            .engine
            .query("SELECT tenant, name, sealed FROM credentials ORDER BY tenant, name")
            .fetch_all("read the credentials")
            .await?;
        let named = rows
            .into_iter()
            .map(|(tenant, name, sealed)| (credential::sealed_for(&tenant, &name), sealed));
        Ok(named.collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_store::{TestPlace, each_engine, execute};

    each_engine!(
        a_tenant_has_its_own_or_the_common_credential_and_none_is_in_plain_text,
        fields_are_changed_one_by_one,
        a_credential_moved_to_another_tenant_does_not_open,
    );

    fn key(holder: &str, name: &str) -> CredentialKey {
        CredentialKey {
            holder: holder.parse().unwrap(),
            name: name.parse().unwrap(),
        }
    }

    async fn set(vault: &Vault, at: &CredentialKey, field: &str, value: &str) {
        let change = CredentialChange::set([(field.to_owned(), Secret::new(value))]);
        vault
            .change_credential(at, change, Timestamp(1))
            .await
            .unwrap();
    }

    async fn token(vault: &Vault, tenant: &str) -> Option<String> {
        let (tenant, name) = (tenant.parse().unwrap(), "desk".parse().unwrap());
        let (_, fields) = vault.find_credential(&tenant, &name).await.unwrap()?;
        Some(fields.get("token")?.reveal().to_owned())
    }

    async fn a_tenant_has_its_own_or_the_common_credential_and_none_is_in_plain_text(
        place: TestPlace,
    ) {
        let store = place.open().await;
        let vault = store.vault(None);
        assert_eq!(token(&vault, "acme").await, None);
        set(&vault, &key("acme", "desk"), "token", "s3cret-acme").await;
        assert_eq!(token(&vault, "globex").await, None);
        set(&vault, &key("*", "desk"), "token", "s3cret-all").await;
        assert_eq!(token(&vault, "globex").await.as_deref(), Some("s3cret-all"));
        assert_eq!(token(&vault, "acme").await.as_deref(), Some("s3cret-acme"));
        assert!(vault.remove_credential(&key("acme", "desk")).await.unwrap());
        assert!(!vault.remove_credential(&key("acme", "desk")).await.unwrap());
        assert_eq!(token(&vault, "acme").await.as_deref(), Some("s3cret-all"));
        assert!(
            vault.list_secrets().await.unwrap().is_empty(),
            "it is no secret"
        );
        store.close().await;
        assert!(!place.holds("s3cret").await);
    }

    async fn fields_are_changed_one_by_one(place: TestPlace) {
        let store = place.open().await;
        let vault = store.vault(None);
        let desk = key("acme", "desk");
        set(&vault, &desk, "user", "ann").await;
        set(&vault, &desk, "password", "s3cret").await;
        let listed = vault.list_credentials().await.unwrap();
        assert_eq!(listed.len(), 1);
        assert_eq!(listed[0].key, desk);
        assert_eq!(listed[0].fields, ["password", "user"]);
        for (field, left) in [("user", 1), ("password", 0)] {
            let change = CredentialChange::remove([field.to_owned()]);
            let changed = vault.change_credential(&desk, change, Timestamp(2)).await;
            assert_eq!(changed.unwrap().names().len(), left);
        }
        assert!(vault.list_credentials().await.unwrap().is_empty());
    }

    async fn a_credential_moved_to_another_tenant_does_not_open(place: TestPlace) {
        let store = place.open().await;
        let vault = store.vault(None);
        set(&vault, &key("acme", "desk"), "token", "1").await;
        execute(&store, "UPDATE credentials SET tenant = 'globex'").await;
        let (tenant, name) = ("globex".parse().unwrap(), "desk".parse().unwrap());
        let opened = vault.find_credential(&tenant, &name).await;
        assert!(matches!(opened, Err(Error::Sealed { .. })), "{opened:?}");
    }
}
