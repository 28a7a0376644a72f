//! The number of files that this process may have open. Connections are files, too, and most
//! systems begin with a low limit.

/// As many files as are of use here. The programs that the gateway launches begin with its limit,
/// and some of them go through all files they might have, one by one, so the limit is not raised to
/// a million.
const ENOUGH: u64 = 65_536;
/// The limit that is assumed where the system names none.
const USUAL: usize = 1_024;

/// Raises the limit as far as the system lets us, if that is of use.
pub fn raise_limit() {
    #[cfg(unix)]
    {
        use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
        let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
        let wanted = maximum.map_or(ENOUGH, |most| most.min(ENOUGH));
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
            Ok(()) => tracing::debug!(from = current, to = wanted, "more files may be open"),
            Err(error) => tracing::warn!(%error, "the limit of open files could not be raised"),
        }
    }
}

/// Returns the number of files that may be open now.
pub(crate) fn allowed() -> usize {
    #[cfg(unix)]
    {
        let limit = rustix::process::getrlimit(rustix::process::Resource::Nofile).current;
        limit
            .map_or(ENOUGH, |limit| limit.min(ENOUGH))
            .try_into()
            .unwrap_or(USUAL)
    }
    #[cfg(not(unix))]
    USUAL
}
