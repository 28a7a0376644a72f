//! The time of day, and waiting. Tests pass in their own clock.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use futures::future::BoxFuture;

#[derive(Clone)]
pub struct Clock {
    now: Arc<dyn Fn() -> SystemTime + Send + Sync>,
    wait: Arc<dyn Fn(Duration) -> BoxFuture<'static, ()> + Send + Sync>,
}

impl Clock {
    /// Returns the system clock.
    pub fn system() -> Self {
        Self::new(SystemTime::now, |time| Box::pin(tokio::time::sleep(time)))
    }

    pub fn new(
        now: impl Fn() -> SystemTime + Send + Sync + 'static,
        wait: impl Fn(Duration) -> BoxFuture<'static, ()> + Send + Sync + 'static,
    ) -> Self {
        Self {
            now: Arc::new(now),
            wait: Arc::new(wait),
        }
    }

    pub(crate) fn now(&self) -> SystemTime {
        (self.now)()
    }

    pub(crate) async fn wait(&self, time: Duration) {
        (self.wait)(time).await;
    }
}

impl fmt::Debug for Clock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Clock")
    }
}
