//! The socket itself: a file that only its owner can reach, and a check of the user at the other
//! end.
//!
//! It lies below the data directory, which a client and a gateway find without any variable:
//! clients launch programs with hardly an environment, and `XDG_RUNTIME_DIR` is not part of it.

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

/// The gateway's end. The file is removed with it.
#[derive(Debug)]
pub(super) struct Socket {
    listener: UnixListener,
    path: PathBuf,
    /// The lock is held as long as the gateway serves; the system releases it even after `kill -9`,
    /// so that a socket without a holder is known to be a leftover.
    _lock: File,
}

#[derive(Debug, thiserror::Error)]
pub(super) enum SocketError {
    #[error("the folder {} belongs to user {owner}, not to user {user}", path.display())]
    ForeignFolder {
        path: PathBuf,
        owner: u32,
        user: u32,
    },
    #[error("other users can reach into {} (mode {mode:o})", path.display())]
    OpenFolder { path: PathBuf, mode: u32 },
    #[error("{} is not a folder", path.display())]
    NoFolder { path: PathBuf },
    #[error("at the other end of {} is user {other}, not user {user}", path.display())]
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
                format!("find out which user made {}, and remove it", path.display())
            }
            Self::Io { path, .. } => {
                format!("see which users may write there: ls -ld {}", path.display())
            }
        }
    }
}

/// Listens in the first place that can hold a socket.
pub(super) fn open(identity: &Identity) -> Result<SocketClaim, SocketError> {
    let name = identity.name();
    // A failure here shows when the folder below it is made.
    let _there = fs::create_dir_all(&identity.data_dir);
    let mut last = None;
    for folder in folders(identity, &name) {
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
    for folder in folders(identity, &name)
        .into_iter()
        .filter(|folder| folder.exists())
    {
        check_folder(&folder)?;
        let path = socket_in(&folder, &name);
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
    /// Returns the next connection of our own user; a connection of any other user is turned away.
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
        let _left_behind = fs::remove_file(&self.path);
    }
}

/// Returns the folders in the order in which they are tried. The data directory may be too deep for
/// the address of a socket, or on a file system that has no sockets.
fn folders(identity: &Identity, name: &str) -> Vec<PathBuf> {
    let user = user();
    let places = [
        identity.data_dir.join("run"),
        PathBuf::from(format!("/run/user/{user}/kitbag")),
        PathBuf::from(format!("/tmp/kitbag-{user}")),
    ];
    places
        .into_iter()
        .filter(|folder| socket_in(folder, name).as_os_str().len() <= LONGEST_ADDRESS)
        .collect()
}

/// The length that macOS allows with the zero at the end; Linux allows four more.
const LONGEST_ADDRESS: usize = 103;

fn open_in(folder: &Path, name: &str) -> Result<SocketClaim, SocketError> {
    make_folder(folder).map_err(|source| SocketError::io(folder, source))?;
    check_folder(folder)?;
    let lock = folder.join(format!("{name}.lock"));
    let Some(held) = held(&lock).map_err(|source| SocketError::io(&lock, source))? else {
        return Ok(SocketClaim::Taken);
    };
    let path = socket_in(folder, name);
    let listener = listen(&path).map_err(|source| SocketError::io(&path, source))?;
    Ok(SocketClaim::Ours(Socket {
        listener,
        path,
        _lock: held,
    }))
}

/// Returns the file with the lock on it, unless another gateway holds the lock.
fn held(lock: &Path) -> io::Result<Option<File>> {
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

/// Listens in the place of a socket that a killed gateway may have left.
fn listen(path: &Path) -> io::Result<UnixListener> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let listener = UnixListener::bind(path)?;
    fs::set_permissions(path, Permissions::from_mode(0o600))?;
    Ok(listener)
}

fn make_folder(folder: &Path) -> io::Result<()> {
    match DirBuilder::new().mode(0o700).create(folder) {
        Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(()),
        made => made,
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
    } else if found.uid() != user() {
        Err(SocketError::ForeignFolder {
            path,
            owner: found.uid(),
            user: user(),
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
        other if other == user() => Ok(()),
        other => Err(SocketError::Stranger {
            path: path.to_owned(),
            other,
            user: user(),
        }),
    }
}

fn socket_in(folder: &Path, name: &str) -> PathBuf {
    folder.join(format!("{name}.sock"))
}

fn user() -> u32 {
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
    async fn a_folder_that_others_can_reach_or_that_is_none_holds_no_socket() {
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
    async fn one_gateway_holds_the_socket_and_what_a_killed_one_left_is_replaced() {
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
            !socket_in(&folder, "name").exists(),
            "it goes with its gateway"
        );
        drop(std::os::unix::net::UnixListener::bind(socket_in(&folder, "name")).unwrap());
        assert!(
            matches!(open_in(&folder, "name").unwrap(), SocketClaim::Ours(_)),
            "a leftover"
        );
    }

    #[test]
    fn a_data_directory_too_deep_for_an_address_is_left_out() {
        let identity = |data_dir: &str| {
            let around = kitbag_config::Environment {
                home: Some("/home/ann".into()),
                data_home: Some(data_dir.into()),
                ..Default::default()
            };
            Identity::of(
                &kitbag_config::ConfigSource {
                    environment: around,
                    ..Default::default()
                },
                None,
            )
            .unwrap()
        };
        let places = |data_dir: &str| folders(&identity(data_dir), "0123456789abcdef");
        assert_eq!(
            places("/home/ann/share")[0],
            PathBuf::from("/home/ann/share/kitbag/run")
        );
        let deep = places(&format!("/home/{}", "deep/".repeat(20)));
        assert_eq!(deep[1], PathBuf::from(format!("/tmp/kitbag-{}", user())));
    }
}
