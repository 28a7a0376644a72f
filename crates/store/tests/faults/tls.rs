//! Tests encrypted connections and untrusted certificates.

use std::process::{Command, Stdio};

use kitbag_store::{Error, Store, StoreAddress};

use crate::server::OwnServer;

/// A certificate authority, and a certificate for `localhost` that it signed.
const CERTIFICATES: &[&[&str]] = &[
    &[
        "req",
        "-x509",
        "-newkey",
        "rsa:2048",
        "-nodes",
        "-days",
        "2",
        "-subj",
        "/CN=authority",
        "-keyout",
        "authority.key",
        "-out",
        "authority.crt",
    ],
    &[
        "req",
        "-newkey",
        "rsa:2048",
        "-nodes",
        "-subj",
        "/CN=localhost",
        "-addext",
        "subjectAltName=DNS:localhost",
        "-keyout",
        "server.key",
        "-out",
        "server.csr",
    ],
    &[
        "x509",
        "-req",
        "-in",
        "server.csr",
        "-CA",
        "authority.crt",
        "-CAkey",
        "authority.key",
        "-CAcreateserial",
        "-days",
        "2",
        "-copy_extensions",
        "copy",
        "-out",
        "server.crt",
    ],
];

async fn start() -> OwnServer {
    let mut server = OwnServer::prepare();
    for arguments in CERTIFICATES {
        let mut openssl = server.0.as_server(Command::new("openssl"));
        let done = openssl.args(*arguments).stderr(Stdio::null()).status();
        assert!(done.unwrap().success(), "{arguments:?}");
    }
    server.0.listen();
    server.0.set("ssl=on");
    for (setting, file) in [
        ("ssl_cert_file", "server.crt"),
        ("ssl_key_file", "server.key"),
    ] {
        let path = server.0.folder().join(file).display().to_string();
        server.0.set(&format!("{setting}={path}"));
    }
    server.0.start_again().await;
    server
}

async fn open(server: &OwnServer, host: &str, parameters: &str) -> Result<Store, Error> {
    let port = server.0.port();
    let url = format!("postgres://kitbag@{host}:{port}/postgres?{parameters}");
    let address = StoreAddress::parse(&url, server.0.folder()).unwrap();
    Store::open(&address).await
}

#[tokio::test]
async fn a_server_is_trusted_by_the_authority_and_the_name_in_its_certificate() {
    let server = start().await;
    let authority = server.0.folder().join("authority.crt");
    let trusting = format!("sslmode=verify-full&sslrootcert={}", authority.display());
    let store = open(&server, "localhost", &trusting).await.unwrap();
    open(&server, "127.0.0.1", "sslmode=require").await.unwrap();
    for (host, parameters) in [
        ("127.0.0.1", trusting.as_str()),
        ("localhost", "sslmode=verify-full"),
    ] {
        let error = open(&server, host, parameters).await.unwrap_err();
        assert!(matches!(error, Error::Unreachable { .. }), "{error:?}");
    }
    store.check_writable().await.unwrap();
    let encrypted: bool = sqlx::query_scalar(
        "SELECT bool_and(ssl) FROM pg_stat_ssl JOIN pg_stat_activity USING (pid)
         WHERE application_name = 'kitbag'",
    )
    .fetch_one(&mut server.session().await)
    .await
    .unwrap();
    assert!(encrypted);
}
