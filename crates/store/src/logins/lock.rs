//! The lock for refreshing the login at a server: a second gateway would present a token that the
//! first has used up.

use kitbag_domain::ServerName;

use crate::lock::StoreLock;
use crate::{Error, Store};

impl Store {
    /// Waits until no other process refreshes the login at this server.
    pub async fn lock_login(&self, server: &ServerName) -> Result<StoreLock, Error> {
        let file = format!("logins/{server}.lock");
        StoreLock::acquire(&self.address, &file, &format!("login {server}")).await
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::test_store::{TestPlace, each_engine};

    each_engine!(one_store_at_a_time_refreshes_the_login_at_a_server);

    async fn one_store_at_a_time_refreshes_the_login_at_a_server(place: TestPlace) {
        let (here, elsewhere) = (place.open().await, place.open().await);
        let [docs, other]: [ServerName; 2] = ["docs", "other"].map(|name| name.parse().unwrap());
        let held = here.lock_login(&docs).await.unwrap();
        elsewhere.lock_login(&other).await.unwrap();
        let waiting = elsewhere.lock_login(&docs);
        let mut waiting = std::pin::pin!(waiting);
        let early = tokio::time::timeout(Duration::from_millis(300), &mut waiting).await;
        assert!(early.is_err(), "another store holds it");
        drop(held);
        waiting.await.unwrap();
    }
}
