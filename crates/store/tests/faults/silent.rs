//! Servers that accept a connection and then say nothing.

use std::time::Duration;

use kitbag_store::{Error, Store, StoreAddress};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

/// The last thing that the server says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LastWord {
    /// It accepts the connection.
    Accept,
    /// It accepts the user, and answers no statement.
    Ready,
}

/// Listens on a free port, and holds all connections open.
async fn start(last: LastWord) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        let mut open = Vec::new();
        while let Ok((mut connection, _)) = listener.accept().await {
            if last == LastWord::Ready {
                welcome(&mut connection).await;
            }
            open.push(connection);
        }
    });
    port
}

/// Plays the server's part of a connection without encryption and password.
async fn welcome(connection: &mut TcpStream) {
    const ENCRYPTION: [u8; 4] = 80_877_103_u32.to_be_bytes();
    const ACCEPTED: &[u8] = b"R\x00\x00\x00\x08\x00\x00\x00\x00";
    const READY: &[u8] = b"Z\x00\x00\x00\x05I";
    if read_startup(connection).await.starts_with(&ENCRYPTION) {
        connection.write_all(b"N").await.unwrap();
        read_startup(connection).await;
    }
    connection.write_all(ACCEPTED).await.unwrap();
    connection.write_all(READY).await.unwrap();
}

/// Returns a message that begins with its length, without the length.
async fn read_startup(connection: &mut TcpStream) -> Vec<u8> {
    let length = connection.read_u32().await.unwrap();
    let mut message = vec![0; usize::try_from(length).unwrap() - size_of::<u32>()];
    connection.read_exact(&mut message).await.unwrap();
    message
}

#[tokio::test]
async fn a_server_that_says_nothing_is_named_instead_of_waited_for() {
    for last in [LastWord::Accept, LastWord::Ready] {
        let port = start(last).await;
        let url = format!("postgres://kitbag@127.0.0.1:{port}/kitbag?connect_timeout=1");
        let folder = tempfile::tempdir().unwrap();
        let address = StoreAddress::parse(&url, folder.path()).unwrap();
        // Less than the minute for which one gateway waits for another.
        let opened = tokio::time::timeout(Duration::from_secs(45), Store::open(address)).await;
        let error = opened.expect("the server is given up").unwrap_err();
        assert!(
            matches!(error, Error::Unanswered { .. }),
            "{last:?}: {error:?}"
        );
        let message = error.to_string();
        assert!(message.contains(&format!("127.0.0.1:{port}")), "{message}");
        assert!(message.contains("connect_timeout"), "{message}");
    }
}
