//! The Unix socket in the state directory. A socket's address holds about 100 bytes; longer paths go by `/proc/self/fd`.

use std::fs::{DirBuilder, File, Permissions};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::os::unix::net::{UnixListener as StdListener, UnixStream as StdStream};
use std::path::{Path, PathBuf};

/// The socket's name in the state directory.
const NAME: &str = "locum.sock";

/// What fits into `sockaddr_un` on every system that we know.
const LONGEST: usize = 100;

/// Why there is no socket.
#[derive(Debug, thiserror::Error)]
pub enum SocketError {
    /// Another host answers there.
    #[error("a host is running already with the state directory {}", .0.display())]
    Running(PathBuf),
    /// Nothing answers there.
    #[error("no host is running with the state directory {}", .0.display())]
    NotRunning(PathBuf),
    /// The system said no.
    #[error("cannot use the socket in {}", path.display())]
    Io {
        /// The state directory.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
}

/// Listens in `state_directory`, which is made, for us alone, if it is missing; what a host that was killed left there is removed.
pub(super) fn listen(state_directory: &Path) -> Result<StdListener, SocketError> {
    let failed = |source| SocketError::Io {
        path: state_directory.to_owned(),
        source,
    };
    DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(state_directory)
        .map_err(failed)?;
    match connect(state_directory) {
        Ok(_) => return Err(SocketError::Running(state_directory.to_owned())),
        Err(SocketError::NotRunning(_)) => {}
        Err(error) => return Err(error),
    }
    match std::fs::remove_file(state_directory.join(NAME)) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(failed(error)),
        _ => {}
    }
    let listener =
        with_address(state_directory, |address| StdListener::bind(address)).map_err(failed)?;
    // Whoever may connect may set roles; the folder may be older than us, and open to others.
    let ours_alone = Permissions::from_mode(0o600);
    std::fs::set_permissions(state_directory.join(NAME), ours_alone).map_err(failed)?;
    Ok(listener)
}

/// Connects to the host that listens in `state_directory`.
pub(super) fn connect(state_directory: &Path) -> Result<StdStream, SocketError> {
    use std::io::ErrorKind::{ConnectionRefused, NotFound};
    with_address(state_directory, |address| StdStream::connect(address)).map_err(|source| {
        match source.kind() {
            ConnectionRefused | NotFound => SocketError::NotRunning(state_directory.to_owned()),
            _ => SocketError::Io {
                path: state_directory.to_owned(),
                source,
            },
        }
    })
}

/// Removes the socket: the host is going.
pub(super) fn remove(state_directory: &Path) {
    // A socket that stays is recognised as stale by the next host.
    let _ = std::fs::remove_file(state_directory.join(NAME));
}

fn with_address<T>(
    folder: &Path,
    with: impl FnOnce(&Path) -> std::io::Result<T>,
) -> std::io::Result<T> {
    let path = folder.join(NAME);
    if path.as_os_str().len() <= LONGEST {
        return with(&path);
    }
    let folder = File::open(folder)?;
    with(&PathBuf::from(format!(
        "/proc/self/fd/{}/{NAME}",
        folder.as_raw_fd()
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_of_any_length_has_a_socket_and_a_stale_one_is_replaced() {
        let short = tempfile::tempdir().unwrap();
        let long = short.path().join("d".repeat(90)).join("e".repeat(90));
        std::fs::create_dir_all(&long).unwrap();
        for folder in [short.path(), long.as_path()] {
            assert!(matches!(connect(folder), Err(SocketError::NotRunning(_))));
            let listener = listen(folder).unwrap();
            assert!(connect(folder).is_ok());
            let socket = std::fs::metadata(folder.join(NAME)).unwrap();
            assert_eq!(socket.permissions().mode() & 0o777, 0o600);
            assert!(matches!(listen(folder), Err(SocketError::Running(_))));
            drop(listener);
            assert!(
                matches!(connect(folder), Err(SocketError::NotRunning(_))),
                "the file stays, nobody answers"
            );
            assert!(listen(folder).is_ok());
        }
    }
}
