//! Signs that what a server needs around it is not there: network, services, ports, files.

use super::Said;
use crate::cause::Cause;

pub(super) fn no_network(said: &Said<'_>) -> Option<Cause> {
    let signs = [
        "getaddrinfo",
        "name resolution",
        "name or service not known",
        "failed to lookup address",
        "nodename nor servname",
        "network is unreachable",
        "dns error",
        "err_socket_timeout",
    ];
    // Whoever refused was reached.
    let fetched =
        said.has(&["fetch failed", "failed to fetch: `http"]) && !said.has(&["econnrefused"]);
    let npm = said.has(&["npm err"]) && said.has(&["econnrefused", "econnreset"]);
    let codes = ["ENOTFOUND", "EAI_AGAIN", "ENETUNREACH", "ETIMEDOUT"];
    (npm || fetched || said.has_code(&codes) || said.has(&signs)).then(|| {
        let host = said.after("getaddrinfo enotfound ", &[' ', '\n', '\'']);
        let host = host.or_else(|| said.after("getaddrinfo eai_again ", &[' ', '\n', '\'']));
        Cause::NoNetwork {
            host: host.or_else(|| said.after("failed to fetch: `", &['`'])),
        }
    })
}

pub(super) fn untrusted(said: &Said<'_>) -> Option<Cause> {
    let signs = [
        "self_signed_cert",
        "self-signed certificate",
        "self signed certificate",
        "unable_to_get_issuer_cert",
        "unable to get local issuer certificate",
        "unable_to_verify_leaf_signature",
        "certificate_verify_failed",
        "certificate verify failed",
        "invalid peer certificate",
    ];
    said.has(&signs).then_some(Cause::Untrusted)
}

pub(super) fn service_down(said: &Said<'_>) -> Option<Cause> {
    let docker = said.has(&["docker daemon"])
        && said.has(&["cannot connect", "is the docker daemon running"]);
    if docker {
        return Some(Cause::ServiceDown {
            address: Some("Docker".to_owned()),
        });
    }
    let signs = [
        "econnrefused",
        "connection refused",
        "connecterror",
        "could not connect to server",
        "can't connect to",
        "serverselectiontimeout",
        "errno 111",
        "errno 61",
    ];
    let address = said
        .after("econnrefused ", &[' ', '\n', '\'', ','])
        .filter(|it| it.contains(':'));
    said.has(&signs).then_some(Cause::ServiceDown { address })
}

pub(super) fn port_taken(said: &Said<'_>) -> Option<Cause> {
    const TAKEN: &[&str] = &["eaddrinuse", "already in use"];
    let is_port = |line: &&str| {
        ["address", "addr", "port"]
            .iter()
            .any(|word| line.to_lowercase().contains(word))
    };
    let line = said.lines(TAKEN).find(is_port)?;
    let port = line
        .rsplit(|c: char| !c.is_ascii_digit())
        .find_map(|digits| digits.parse().ok().filter(|it| *it > 99));
    Some(Cause::PortTaken { port })
}

pub(super) fn missing_file(said: &Said<'_>) -> Option<Cause> {
    const SIGNS: &[&str] = &[
        "cannot find module '/",
        "no such file or directory",
        "does not exist",
        "cannot access directory",
    ];
    let path = said.lines(SIGNS).find_map(path_in)?;
    Some(Cause::MissingFile {
        path: path.to_owned(),
    })
}

/// The last, since a program that complains puts its own name first.
fn path_in(line: &str) -> Option<&str> {
    let mut words = line.rsplit(|c: char| {
        c.is_whitespace() || matches!(c, '\'' | '"' | '`' | ':' | ',' | '(' | ')')
    });
    words.find(|word| word.starts_with('/') && word.len() > 1)
}

pub(super) fn forbidden(said: &Said<'_>) -> Option<Cause> {
    const SIGNS: &[&str] = &[
        "eacces",
        "eperm",
        "permission denied",
        "permissionerror",
        "operation not permitted",
    ];
    let line = said.lines(SIGNS).next()?;
    Some(Cause::Forbidden {
        path: path_in(line).map(str::to_owned),
    })
}
