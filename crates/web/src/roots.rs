//! The operator's own certificate authorities, accepted in addition to the public ones.

use std::path::{Path, PathBuf};

use reqwest::Certificate;

/// Certificates in PEM, one per text.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RootCertificates(Vec<String>);

/// A certificate file that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum RootsError {
    #[error("cannot read {}: {source}", path.display())]
    Unreadable {
        path: PathBuf,
        source: std::io::Error,
    },
    #[error("it contains no certificate in PEM")]
    Empty,
    #[error("certificate {number} in it cannot be used: {reason}")]
    Bad { number: usize, reason: String },
}

const BEGIN: &str = "-----BEGIN CERTIFICATE-----";
const END: &str = "-----END CERTIFICATE-----";

impl RootCertificates {
    pub fn read_file(path: &Path) -> Result<Self, RootsError> {
        let text = std::fs::read_to_string(path).map_err(|source| RootsError::Unreadable {
            path: path.to_owned(),
            source,
        })?;
        Self::from_pem(&text)
    }

    /// Parses one or more certificates; text between them is ignored.
    pub fn from_pem(text: &str) -> Result<Self, RootsError> {
        let certificates: Vec<String> = text.split(BEGIN).skip(1).filter_map(parse_one).collect();
        if certificates.is_empty() {
            return Err(RootsError::Empty);
        }
        for (index, pem) in certificates.iter().enumerate() {
            check_certificate(pem).map_err(|error| RootsError::Bad {
                number: index + 1,
                reason: kitbag_fetch::describe_error(error),
            })?;
        }
        Ok(Self(certificates))
    }

    pub(crate) fn as_pem(&self) -> &[String] {
        &self.0
    }

    pub(crate) fn for_client(&self) -> Vec<Certificate> {
        let certificates = self
            .0
            .iter()
            .map(|pem| Certificate::from_pem(pem.as_bytes()));
        certificates
            .map(|certificate| certificate.expect("each was checked when it was taken"))
            .collect()
    }
}

fn parse_one(after_begin: &str) -> Option<String> {
    let (body, _) = after_begin.split_once(END)?;
    Some(format!("{BEGIN}{body}{END}\n"))
}

/// A certificate is only parsed when a client is built with it.
fn check_certificate(pem: &str) -> Result<(), reqwest::Error> {
    let certificate = Certificate::from_pem(pem.as_bytes())?;
    let client = reqwest::Client::builder().tls_certs_merge([certificate]);
    client.build().map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_without_a_certificate_is_rejected_with_a_reason() {
        for (text, expected) in [
            ("", "no certificate in PEM"),
            ("-----BEGIN CERTIFICATE-----\nMIIB", "no certificate in PEM"),
            (
                "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----",
                "certificate 1 in it cannot be used",
            ),
        ] {
            let found = RootCertificates::from_pem(text).unwrap_err().to_string();
            assert!(found.contains(expected), "{text}: {found}");
        }
    }
}
