//! Signs that the environment of a server lacks something: network, services, ports, files.

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
    // A service that refused the connection was reached.
    let fetched = output.contains_any(&["fetch failed", "failed to fetch: `http"])
        && !output.contains_any(&["econnrefused"]);
    let npm =
        output.contains_any(&["npm err"]) && output.contains_any(&["econnrefused", "econnreset"]);
    let codes = ["ENOTFOUND", "EAI_AGAIN", "ENETUNREACH", "ETIMEDOUT"];
    (npm || fetched || output.has_code(&codes) || output.contains_any(&signs)).then(|| {
        let host = output.text_after("getaddrinfo enotfound ", &[' ', '\n', '\'']);
        let host = host.or_else(|| output.text_after("getaddrinfo eai_again ", &[' ', '\n', '\'']));
        Cause::NoNetwork {
            host: host.or_else(|| output.text_after("failed to fetch: `", &['`'])),
        }
    })
}

pub(super) fn untrusted_certificate(output: &ServerOutput<'_>) -> Option<Cause> {
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
    output.contains_any(&signs).then_some(Cause::Untrusted)
}

pub(super) fn service_down(output: &ServerOutput<'_>) -> Option<Cause> {
    let docker = output.contains_any(&["docker daemon"])
        && output.contains_any(&["cannot connect", "is the docker daemon running"]);
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
        .text_after("econnrefused ", &[' ', '\n', '\'', ','])
        .filter(|address| address.contains(':'));
    output
        .contains_any(&signs)
        .then_some(Cause::ServiceDown { address })
}

pub(super) fn port_taken(output: &ServerOutput<'_>) -> Option<Cause> {
    const TAKEN: &[&str] = &["eaddrinuse", "already in use"];
    let mut lines = output.lines_with(TAKEN);
    let line = lines.find(|line| has_any(&line.to_lowercase(), &["addr", "port"]))?;
    // Smaller numbers are line numbers and error codes.
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
    let path = output.lines_with(SIGNS).find_map(path_in)?;
    Some(Cause::MissingFile {
        path: path.to_owned(),
    })
}

/// Returns the last path, since a program that complains prints its own name first.
fn path_in(line: &str) -> Option<&str> {
    let mut words = line.rsplit(|c: char| {
        c.is_whitespace() || matches!(c, '\'' | '"' | '`' | ':' | ',' | '(' | ')')
    });
    words.find(|word| word.starts_with('/') && word.len() > 1)
}

pub(super) fn permission_denied(output: &ServerOutput<'_>) -> Option<Cause> {
    const SIGNS: &[&str] = &[
        "eacces",
        "eperm",
        "permission denied",
        "permissionerror",
        "operation not permitted",
    ];
    let line = output.lines_with(SIGNS).next()?;
    Some(Cause::Forbidden {
        path: path_in(line).map(str::to_owned),
    })
}
