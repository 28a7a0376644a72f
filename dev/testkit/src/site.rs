//! An HTTPS site on this machine, with certificates of an authority that only the tests know.
//!
//! It listens on 127.0.0.2, which the tests treat as a public address. All other addresses of this
//! machine are private to them, so `localhost` is a name for a private address.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock};

use axum::Router;
use axum::serve::Listener;
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair, KeyUsagePurpose};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use tokio_rustls::server::TlsStream;

pub const PUBLIC: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 2);
pub const PRIVATE: Ipv4Addr = Ipv4Addr::LOCALHOST;

/// Returns the certificate authority of all sites of this process, in PEM.
pub fn authority() -> String {
    AUTHORITY.pem()
}

/// Serves a router until the test ends.
pub async fn serve(router: Router) -> SocketAddr {
    serve_at(PUBLIC, router).await
}

pub async fn serve_at(address: Ipv4Addr, router: Router) -> SocketAddr {
    let tcp = TcpListener::bind((address, 0)).await.expect("a free port");
    let address = tcp.local_addr().expect("it is bound");
    let (sender, streams) = mpsc::channel(16);
    tokio::spawn(shake_hands(tcp, sender));
    let listener = TlsListener { streams, address };
    tokio::spawn(axum::serve(listener, router).into_future());
    address
}

/// Serves without TLS, like an operator's own service might.
pub async fn serve_plain(router: Router) -> SocketAddr {
    let listener = TcpListener::bind((PRIVATE, 0)).await.expect("a free port");
    let address = listener.local_addr().expect("it is bound");
    tokio::spawn(axum::serve(listener, router).into_future());
    address
}

/// Returns an address that nothing listens on.
pub async fn closed_port() -> SocketAddr {
    let listener = TcpListener::bind((PUBLIC, 0)).await.expect("a free port");
    listener.local_addr().expect("it is bound")
}

/// Counts connections to a private port, and answers none of them.
pub async fn private_port() -> (SocketAddr, Arc<AtomicUsize>) {
    let listener = TcpListener::bind((PRIVATE, 0)).await.expect("a free port");
    let address = listener.local_addr().expect("it is bound");
    let visits = Arc::<AtomicUsize>::default();
    let counted = Arc::clone(&visits);
    tokio::spawn(async move {
        while listener.accept().await.is_ok() {
            counted.fetch_add(1, Ordering::Relaxed);
        }
    });
    (address, visits)
}

static AUTHORITY: LazyLock<CertifiedIssuer<'static, KeyPair>> = LazyLock::new(|| {
    let mut params = CertificateParams::new([]).expect("no names");
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign];
    let key = KeyPair::generate().expect("a key");
    CertifiedIssuer::self_signed(params, key).expect("a certificate")
});

fn acceptor() -> TlsAcceptor {
    let names = [
        "localhost".to_owned(),
        PUBLIC.to_string(),
        PRIVATE.to_string(),
    ];
    let params = CertificateParams::new(names).expect("good names");
    let key = KeyPair::generate().expect("a key");
    let certificate = params.signed_by(&key, &*AUTHORITY).expect("a certificate");
    let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(key.serialize_der()));
    let config = ServerConfig::builder()
        .with_no_client_auth()
        .with_single_cert(vec![certificate.der().clone()], key);
    TlsAcceptor::from(Arc::new(config.expect("a key that fits")))
}

async fn shake_hands(tcp: TcpListener, sender: mpsc::Sender<(TlsStream<TcpStream>, SocketAddr)>) {
    let acceptor = acceptor();
    while let Ok((stream, peer)) = tcp.accept().await {
        let (acceptor, sender) = (acceptor.clone(), sender.clone());
        tokio::spawn(async move {
            if let Ok(stream) = acceptor.accept(stream).await {
                let _ = sender.send((stream, peer)).await;
            }
        });
    }
}

struct TlsListener {
    streams: mpsc::Receiver<(TlsStream<TcpStream>, SocketAddr)>,
    address: SocketAddr,
}

impl Listener for TlsListener {
    type Io = TlsStream<TcpStream>;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (Self::Io, Self::Addr) {
        match self.streams.recv().await {
            Some(accepted) => accepted,
            None => std::future::pending().await,
        }
    }

    fn local_addr(&self) -> std::io::Result<SocketAddr> {
        Ok(self.address)
    }
}
