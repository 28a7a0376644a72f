//! Raises the limit of open files (`RLIMIT_NOFILE`). Connections count as files, and most systems
//! start with a low limit.

/// The highest limit that is useful. Child processes inherit the limit, and some of them iterate
/// over all possible file descriptors, so it is not raised to a million.
const MAX_USEFUL_LIMIT: u64 = 65_536;
/// The limit that is assumed where the system reports none.
const DEFAULT_LIMIT: usize = 1_024;

/// Raises the limit as far as useful and allowed.
pub fn raise_limit() {
    #[cfg(unix)]
    {
        use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
        let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
        let wanted = maximum.map_or(MAX_USEFUL_LIMIT, |most| most.min(MAX_USEFUL_LIMIT));
        if current.is_none_or(|current| current >= wanted) {
            return;
        }
        match setrlimit(
            Resource::Nofile,
            Rlimit {
                current: Some(wanted),
                maximum,
            },
        ) {
            Ok(()) => tracing::debug!(
                from = current,
                to = wanted,
                "raised the limit of open files"
            ),
            Err(error) => tracing::warn!(%error, "failed to raise the limit of open files"),
        }
    }
}

/// Returns the number of files that may be open now.
pub(crate) fn open_file_limit() -> usize {
    #[cfg(unix)]
    {
        let limit = rustix::process::getrlimit(rustix::process::Resource::Nofile).current;
        limit
            .map_or(MAX_USEFUL_LIMIT, |limit| limit.min(MAX_USEFUL_LIMIT))
            .try_into()
            .unwrap_or(DEFAULT_LIMIT)
    }
    #[cfg(not(unix))]
    DEFAULT_LIMIT
}
