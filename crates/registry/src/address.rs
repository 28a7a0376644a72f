//! What a runner calls a package: its name, its version, and for images where they are kept.

use url::Url;

use crate::choose::Kind;
use crate::plan::PlanError;
use crate::server::Package;

/// What the runner calls the package, version included.
pub(crate) fn address(package: &Package, kind: Kind) -> Result<String, PlanError> {
    let Package {
        identifier,
        registry_base_url,
        ..
    } = package;
    let version = package
        .version
        .as_deref()
        .filter(|version| !version.is_empty());
    for word in [Some(identifier.as_str()), version].into_iter().flatten() {
        // A word that begins with a dash would be an option of the runner.
        if word.is_empty()
            || word.starts_with('-')
            || word.contains(|c: char| c.is_whitespace() || c.is_control())
        {
            return Err(PlanError::OddName {
                found: word.to_owned(),
            });
        }
    }
    let host = registry_base_url
        .as_deref()
        .and_then(|url| Url::parse(url).ok());
    let host = host
        .as_ref()
        .and_then(|url| url.host_str())
        .map(str::to_owned);
    let with = |separator: &str| match version {
        Some(version) => format!("{identifier}{separator}{version}"),
        None => identifier.clone(),
    };
    match kind {
        Kind::Oci => Ok(image(identifier, version, host.as_deref())),
        _ if host.as_deref().is_some_and(|host| !is_usual(host, kind)) => {
            Err(PlanError::Elsewhere {
                host: host.unwrap_or_default(),
            })
        }
        Kind::Pypi => Ok(with("==")),
        _ => Ok(with("@")),
    }
}

/// Whether the runner looks there without being told.
fn is_usual(host: &str, kind: Kind) -> bool {
    host.rsplit('.').nth(1)
        == Some(if kind == Kind::Npm {
            "npmjs"
        } else {
            kind.name()
        })
}

/// With host and tag, wherever the author wrote them.
fn image(identifier: &str, version: Option<&str>, host: Option<&str>) -> String {
    let (first, last) = (identifier.split('/').next(), identifier.rsplit('/').next());
    let has_host = identifier.contains('/')
        && first.is_some_and(|it| it.contains(['.', ':']) || it == "localhost");
    let host = host.filter(|host| {
        !has_host && !matches!(*host, "docker.io" | "hub.docker.com" | "index.docker.io")
    });
    let host = host.map(|host| format!("{host}/")).unwrap_or_default();
    let has_tag = last.is_some_and(|it| it.contains([':', '@']));
    let tag = version
        .filter(|_| !has_tag)
        .map(|version| format!(":{version}"))
        .unwrap_or_default();
    format!("{host}{identifier}{tag}")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check(kind: Kind, host: &str, identifier: &str, version: &str, expected: &str) {
        let package = json!({
            "registryType": kind.name(), "registryBaseUrl": host, "identifier": identifier, "version": version,
        });
        let found = address(&serde_json::from_value(package).unwrap(), kind);
        assert_eq!(found.unwrap_or_else(|error| error.to_string()), expected);
    }

    #[test]
    fn an_image_gets_its_host_and_its_tag_once() {
        check(Kind::Oci, "https://docker.io", "acme/x", "1", "acme/x:1");
        check(
            Kind::Oci,
            "https://ghcr.io",
            "acme/x",
            "1",
            "ghcr.io/acme/x:1",
        );
        check(
            Kind::Oci,
            "https://ghcr.io",
            "ghcr.io/acme/x:1",
            "1",
            "ghcr.io/acme/x:1",
        );
        check(Kind::Oci, "", "localhost:5000/x", "1", "localhost:5000/x:1");
        check(Kind::Oci, "", "acme/x@sha256:00", "1", "acme/x@sha256:00");
    }

    #[test]
    fn a_package_is_taken_only_from_where_its_runner_looks() {
        let usual = |name: &str| format!("https://api.{name}.org");
        check(
            Kind::Npm,
            &usual("npmjs"),
            "@acme/x",
            "1.0.0",
            "@acme/x@1.0.0",
        );
        check(Kind::Pypi, &usual("pypi"), "x", "1.0", "x==1.0");
        check(Kind::Nuget, &usual("nuget"), "X", "", "X");
        let expected =
            "its package is kept at packages.acme.example, where no runner looks by itself";
        check(
            Kind::Npm,
            "https://packages.acme.example/npm",
            "x",
            "1",
            expected,
        );
        check(
            Kind::Pypi,
            &usual("npmjs"),
            "x",
            "1",
            "its package is kept at api.npmjs.org, where no runner looks by itself",
        );
    }
}
