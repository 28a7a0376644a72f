//! Signs that the surroundings of a server lack something: network, services, ports, files.

use super::{ServerOutput, has_any};
use crate::cause::Cause;

pub(super) fn no_network(output: &ServerOutput<'_>) -> Option<Cause> {
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
    // A service that refused was reached.
    let fetched =
        output.has(&["fetch failed", "failed to fetch: `http"]) && !output.has(&["econnrefused"]);
    let npm = output.has(&["npm err"]) && output.has(&["econnrefused", "econnreset"]);
    let codes = ["ENOTFOUND", "EAI_AGAIN", "ENETUNREACH", "ETIMEDOUT"];
    (npm || fetched || output.has_code(&codes) || output.has(&signs)).then(|| {
        let host = output.after("getaddrinfo enotfound ", &[' ', '\n', '\'']);
        let host = host.or_else(|| output.after("getaddrinfo eai_again ", &[' ', '\n', '\'']));
        Cause::NoNetwork {
            host: host.or_else(|| output.after("failed to fetch: `", &['`'])),
        }
    })
}

pub(super) fn untrusted(output: &ServerOutput<'_>) -> Option<Cause> {
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
    output.has(&signs).then_some(Cause::Untrusted)
}

pub(super) fn service_down(output: &ServerOutput<'_>) -> Option<Cause> {
    let docker = output.has(&["docker daemon"])
        && output.has(&["cannot connect", "is the docker daemon running"]);
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
    let address = output
        .after("econnrefused ", &[' ', '\n', '\'', ','])
        .filter(|address| address.contains(':'));
    output.has(&signs).then_some(Cause::ServiceDown { address })
}

pub(super) fn port_taken(output: &ServerOutput<'_>) -> Option<Cause> {
    const TAKEN: &[&str] = &["eaddrinuse", "already in use"];
    let mut lines = output.lines(TAKEN);
    let line = lines.find(|line| has_any(&line.to_lowercase(), &["addr", "port"]))?;
    // Smaller numbers are those of lines and errors.
    let port = line
        .rsplit(|c: char| !c.is_ascii_digit())
        .find_map(|digits| digits.parse().ok().filter(|port| *port > 99));
    Some(Cause::PortTaken { port })
}

pub(super) fn missing_file(output: &ServerOutput<'_>) -> Option<Cause> {
    const SIGNS: &[&str] = &[
        "cannot find module '/",
        "no such file or directory",
        "does not exist",
        "cannot access directory",
    ];
    let path = output.lines(SIGNS).find_map(path_in)?;
    Some(Cause::MissingFile {
        path: path.to_owned(),
    })
}

/// Returns the last path, since a program that complains puts its own name first.
fn path_in(line: &str) -> Option<&str> {
    let mut words = line.rsplit(|c: char| {
        c.is_whitespace() || matches!(c, '\'' | '"' | '`' | ':' | ',' | '(' | ')')
    });
    words.find(|word| word.starts_with('/') && word.len() > 1)
}

pub(super) fn forbidden(output: &ServerOutput<'_>) -> Option<Cause> {
    const SIGNS: &[&str] = &[
        "eacces",
        "eperm",
        "permission denied",
        "permissionerror",
        "operation not permitted",
    ];
    let line = output.lines(SIGNS).next()?;
    Some(Cause::Forbidden {
        path: path_in(line).map(str::to_owned),
    })
}
