//! The name by which a runner finds a package: with its version, and for images with their host.

use url::Url;

use crate::choose::RunKind;
use crate::plan::PlanError;
use crate::server::Package;

/// Returns the name of the package for its runner, including the version.
pub(crate) fn package_name(package: &Package, kind: RunKind) -> Result<String, PlanError> {
    let version = package.version.as_deref();
    let version = version.filter(|version| !version.is_empty());
    check_word(&package.identifier)?;
    version.map_or(Ok(()), check_word)?;
    let host = registry_host(package);
    if kind == RunKind::Oci {
        return Ok(image_name(&package.identifier, version, host.as_deref()));
    }
    match host {
        Some(host) if !is_default_host(&host, kind) => Err(PlanError::Elsewhere { host }),
        _ => Ok(with_version(&package.identifier, version, kind)),
    }
}

fn with_version(identifier: &str, version: Option<&str>, kind: RunKind) -> String {
    let separator = if kind == RunKind::Pypi { "==" } else { "@" };
    match version {
        Some(version) => format!("{identifier}{separator}{version}"),
        None => identifier.to_owned(),
    }
}

/// A word that begins with a dash would be an option of the runner.
fn check_word(word: &str) -> Result<(), PlanError> {
    let is_odd = word.contains(|c: char| c.is_whitespace() || c.is_control());
    if word.is_empty() || word.starts_with('-') || is_odd {
        return Err(PlanError::OddName {
            found: word.to_owned(),
        });
    }
    Ok(())
}

fn registry_host(package: &Package) -> Option<String> {
    let url = Url::parse(package.registry_base_url.as_deref()?).ok()?;
    url.host_str().map(str::to_owned)
}

/// True if the runner uses this host by default.
fn is_default_host(host: &str, kind: RunKind) -> bool {
    let usual = if kind == RunKind::Npm {
        "npmjs"
    } else {
        kind.name()
    };
    host.rsplit('.').nth(1) == Some(usual)
}

/// Returns the name of an image with its host and its tag, even if the author wrote them into the
/// identifier.
fn image_name(identifier: &str, version: Option<&str>, host: Option<&str>) -> String {
    let host = host.filter(|host| !has_host(identifier) && !is_docker_hub(host));
    let host = host.map(|host| format!("{host}/")).unwrap_or_default();
    let last = identifier.rsplit('/').next().unwrap_or_default();
    let tag = version.filter(|_| !last.contains([':', '@']));
    let tag = tag.map(|version| format!(":{version}")).unwrap_or_default();
    format!("{host}{identifier}{tag}")
}

fn has_host(identifier: &str) -> bool {
    match identifier.split_once('/') {
        Some((first, _)) => first.contains(['.', ':']) || first == "localhost",
        None => false,
    }
}

fn is_docker_hub(host: &str) -> bool {
    matches!(host, "docker.io" | "hub.docker.com" | "index.docker.io")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check(kind: RunKind, host: &str, identifier: &str, version: &str, expected: &str) {
        let package = json!({
            "registryType": kind.name(), "registryBaseUrl": host, "identifier": identifier, "version": version,
        });
        let found = package_name(&serde_json::from_value(package).unwrap(), kind);
        assert_eq!(found.unwrap_or_else(|error| error.to_string()), expected);
    }

    #[test]
    fn an_image_gets_its_host_and_its_tag_once() {
        check(RunKind::Oci, "https://docker.io", "acme/x", "1", "acme/x:1");
        check(
            RunKind::Oci,
            "https://ghcr.io",
            "acme/x",
            "1",
            "ghcr.io/acme/x:1",
        );
        check(
            RunKind::Oci,
            "https://ghcr.io",
            "ghcr.io/acme/x:1",
            "1",
            "ghcr.io/acme/x:1",
        );
        check(
            RunKind::Oci,
            "",
            "localhost:5000/x",
            "1",
            "localhost:5000/x:1",
        );
        check(
            RunKind::Oci,
            "",
            "acme/x@sha256:00",
            "1",
            "acme/x@sha256:00",
        );
    }

    #[test]
    fn a_package_must_be_on_its_runners_default_host() {
        let usual = |name: &str| format!("https://api.{name}.org");
        check(
            RunKind::Npm,
            &usual("npmjs"),
            "@acme/x",
            "1.0.0",
            "@acme/x@1.0.0",
        );
        check(RunKind::Pypi, &usual("pypi"), "x", "1.0", "x==1.0");
        check(RunKind::Nuget, &usual("nuget"), "X", "", "X");
        let expected = "its package is on packages.acme.example, which no runner uses by default";
        check(
            RunKind::Npm,
            "https://packages.acme.example/npm",
            "x",
            "1",
            expected,
        );
        check(
            RunKind::Pypi,
            &usual("npmjs"),
            "x",
            "1",
            "its package is on api.npmjs.org, which no runner uses by default",
        );
    }
}
