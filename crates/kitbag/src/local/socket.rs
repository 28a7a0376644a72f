//! The socket: a file that only its owner can open, and a check of the user at the other end.
//!
//! It is below the data directory rather than `XDG_RUNTIME_DIR`, since clients start programs with
//! hardly any environment.

use std::fs::{self, DirBuilder, File, OpenOptions, Permissions};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{
    DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _,
};
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, flock};
use tokio::net::UnixListener;

use super::{Identity, SocketClaim};

pub(super) use tokio::net::UnixStream as Stream;

/// The listening socket. Dropping it removes the file.
#[derive(Debug)]
pub(super) struct Socket {
    listener: UnixListener,
    path: PathBuf,
    /// Held while the gateway serves. The system releases it even after `kill -9`, so a socket
    /// whose lock is free is a leftover.
    _lock: File,
}

#[derive(Debug, thiserror::Error)]
pub(super) enum SocketError {
    #[error("folder {} belongs to uid {owner}, expected {user}", path.display())]
    ForeignFolder {
        path: PathBuf,
        owner: u32,
        user: u32,
    },
    #[error("other users have access to {} (mode {mode:o})", path.display())]
    OpenFolder { path: PathBuf, mode: u32 },
    #[error("{} is not a folder", path.display())]
    NoFolder { path: PathBuf },
    #[error("socket {} belongs to uid {other}, expected {user}", path.display())]
    Stranger {
        path: PathBuf,
        other: u32,
        user: u32,
    },
    #[error("{}: {source}", path.display())]
    Io { path: PathBuf, source: io::Error },
}

impl SocketError {
    fn io(path: &Path, source: io::Error) -> Self {
        Self::Io {
            path: path.to_owned(),
            source,
        }
    }

    pub(super) fn remedy(&self) -> String {
        match self {
            Self::OpenFolder { path, .. } => format!("chmod 700 {}", path.display()),
            Self::ForeignFolder { path, .. }
            | Self::NoFolder { path }
            | Self::Stranger { path, .. } => {
                format!(
                    "find out which user created {} and remove it",
                    path.display()
                )
            }
            Self::Io { path, .. } => {
                format!("check who may write there: ls -ld {}", path.display())
            }
        }
    }
}

/// Listens in the first folder that can hold a socket.
pub(super) fn open(identity: &Identity) -> Result<SocketClaim, SocketError> {
    let name = identity.name();
    // A failure is reported when the folder below it is created.
    let _created = fs::create_dir_all(&identity.data_dir);
    let mut last = None;
    for folder in candidate_folders(identity, &name) {
        match open_in(&folder, &name) {
            Err(SocketError::Io { path, source }) => last = Some(SocketError::Io { path, source }),
            done => return done,
        }
    }
    Err(last.unwrap_or_else(|| SocketError::NoFolder {
        path: identity.data_dir.clone(),
    }))
}

/// Connects to the gateway that serves this configuration, if one does.
pub(super) async fn connect(identity: &Identity) -> Result<Option<Stream>, SocketError> {
    let name = identity.name();
    for folder in candidate_folders(identity, &name)
        .into_iter()
        .filter(|folder| folder.exists())
    {
        check_folder(&folder)?;
        let path = socket_path(&folder, &name);
        match Stream::connect(&path).await {
            Ok(stream) => return check_peer(&stream, &path).map(|()| Some(stream)),
            Err(error)
                if matches!(
                    error.kind(),
                    ErrorKind::NotFound | ErrorKind::ConnectionRefused
                ) => {}
            Err(source) => return Err(SocketError::Io { path, source }),
        }
    }
    Ok(None)
}

impl Socket {
    /// Returns the next connection. Rejects connections of other users.
    pub(super) async fn accept(&self) -> Result<Stream, SocketError> {
        let accepted = self.listener.accept().await;
        let (stream, _) = accepted.map_err(|source| SocketError::io(&self.path, source))?;
        check_peer(&stream, &self.path)?;
        Ok(stream)
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for Socket {
    fn drop(&mut self) {
        // The next gateway replaces a file that could not be removed.
        let _leftover = fs::remove_file(&self.path);
    }
}

/// Returns the folders to try, in order. The path below the data directory may be too long for a
/// socket, or its file system may not support sockets.
fn candidate_folders(identity: &Identity, name: &str) -> Vec<PathBuf> {
    let user = effective_uid();
    let candidates = [
        identity.data_dir.join("run"),
        PathBuf::from(format!("/run/user/{user}/kitbag")),
        PathBuf::from(format!("/tmp/kitbag-{user}")),
    ];
    candidates
        .into_iter()
        .filter(|folder| socket_path(folder, name).as_os_str().len() <= MAX_PATH_BYTES)
        .collect()
}

/// The limit of macOS without the terminating zero; Linux allows four more.
const MAX_PATH_BYTES: usize = 103;

fn open_in(folder: &Path, name: &str) -> Result<SocketClaim, SocketError> {
    create_private_folder(folder).map_err(|source| SocketError::io(folder, source))?;
    check_folder(folder)?;
    let lock = folder.join(format!("{name}.lock"));
    let Some(lock_file) = try_lock(&lock).map_err(|source| SocketError::io(&lock, source))? else {
        return Ok(SocketClaim::Taken);
    };
    let path = socket_path(folder, name);
    let listener = bind(&path).map_err(|source| SocketError::io(&path, source))?;
    Ok(SocketClaim::Ours(Socket {
        listener,
        path,
        _lock: lock_file,
    }))
}

/// Opens and locks the file; `None` if another gateway holds the lock.
fn try_lock(lock: &Path) -> io::Result<Option<File>> {
    let file = OpenOptions::new()
        .create(true)
        .truncate(false)
        .write(true)
        .mode(0o600)
        .open(lock)?;
    match flock(&file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Ok(Some(file)),
        Err(rustix::io::Errno::WOULDBLOCK) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// Listens on the path, replacing a socket that a killed gateway may have left.
fn bind(path: &Path) -> io::Result<UnixListener> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let listener = UnixListener::bind(path)?;
    fs::set_permissions(path, Permissions::from_mode(0o600))?;
    Ok(listener)
}

fn create_private_folder(folder: &Path) -> io::Result<()> {
    match DirBuilder::new().mode(0o700).create(folder) {
        Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(()),
        result => result,
    }
}

fn check_folder(folder: &Path) -> Result<(), SocketError> {
    let path = folder.to_owned();
    let found = match fs::symlink_metadata(folder) {
        Ok(found) => found,
        Err(source) => return Err(SocketError::Io { path, source }),
    };
    let mode = found.mode() & 0o777;
    if !found.is_dir() {
        Err(SocketError::NoFolder { path })
    } else if found.uid() != effective_uid() {
        Err(SocketError::ForeignFolder {
            path,
            owner: found.uid(),
            user: effective_uid(),
        })
    } else if mode & 0o077 != 0 {
        Err(SocketError::OpenFolder { path, mode })
    } else {
        Ok(())
    }
}

fn check_peer(stream: &Stream, path: &Path) -> Result<(), SocketError> {
    let peer = stream.peer_cred();
    let peer = peer.map_err(|source| SocketError::io(path, source))?;
    match peer.uid() {
        other if other == effective_uid() => Ok(()),
        other => Err(SocketError::Stranger {
            path: path.to_owned(),
            other,
            user: effective_uid(),
        }),
    }
}

fn socket_path(folder: &Path, name: &str) -> PathBuf {
    folder.join(format!("{name}.sock"))
}

fn effective_uid() -> u32 {
    rustix::process::geteuid().as_raw()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn refused(folder: &Path) -> String {
        open_in(folder, "name").unwrap_err().to_string()
    }

    #[tokio::test]
    async fn a_socket_needs_a_folder_that_only_its_user_can_access() {
        let folder = tempfile::tempdir().unwrap();
        let open = folder.path().join("open");
        DirBuilder::new().create(&open).unwrap();
        fs::set_permissions(&open, Permissions::from_mode(0o750)).unwrap();
        assert!(refused(&open).contains("(mode 750)"), "{}", refused(&open));
        fs::set_permissions(&open, Permissions::from_mode(0o700)).unwrap();
        let link = folder.path().join("link");
        std::os::unix::fs::symlink(&open, &link).unwrap();
        assert!(
            refused(&link).ends_with("is not a folder"),
            "{}",
            refused(&link)
        );
        assert!(matches!(
            open_in(&open, "name").unwrap(),
            SocketClaim::Ours(_)
        ));
    }

    #[tokio::test]
    async fn one_gateway_holds_the_socket_and_the_leftover_of_a_killed_one_is_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path().join("run");
        let SocketClaim::Ours(first) = open_in(&folder, "name").unwrap() else {
            panic!("no gateway holds it yet")
        };
        assert!(matches!(
            open_in(&folder, "name").unwrap(),
            SocketClaim::Taken
        ));
        assert!(matches!(
            open_in(&folder, "another").unwrap(),
            SocketClaim::Ours(_)
        ));
        let mode = fs::metadata(first.path()).unwrap().mode() & 0o777;
        assert_eq!(mode, 0o600);
        drop(first);
        assert!(
            !socket_path(&folder, "name").exists(),
            "it goes with its gateway"
        );
        drop(std::os::unix::net::UnixListener::bind(socket_path(&folder, "name")).unwrap());
        assert!(
            matches!(open_in(&folder, "name").unwrap(), SocketClaim::Ours(_)),
            "a leftover"
        );
    }

    #[test]
    fn a_data_directory_too_deep_for_an_address_is_skipped() {
        let identity = |data_dir: &str| {
            let environment = kitbag_config::Environment {
                home: Some("/home/ann".into()),
                data_home: Some(data_dir.into()),
                ..Default::default()
            };
            Identity::new(
                &kitbag_config::ConfigSource {
                    environment,
                    ..Default::default()
                },
                None,
            )
            .unwrap()
        };
        let candidates =
            |data_dir: &str| candidate_folders(&identity(data_dir), "0123456789abcdef");
        assert_eq!(
            candidates("/home/ann/share")[0],
            PathBuf::from("/home/ann/share/kitbag/run")
        );
        let deep = candidates(&format!("/home/{}", "deep/".repeat(20)));
        assert_eq!(
            deep[1],
            PathBuf::from(format!("/tmp/kitbag-{}", effective_uid()))
        );
    }
}
