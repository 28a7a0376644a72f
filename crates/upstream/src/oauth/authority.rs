//! Finds the authorization server that issues tokens for a server.

use url::Url;

use super::challenge::Challenge;
use super::error::LoginError;
use super::metadata::{
    AuthorityMetadata, ResourceMetadata, authority_metadata_urls, issuer_of,
    resource_metadata_urls, root_of,
};
use super::scopes::Scopes;
use super::web::{OauthWeb, redacted_url};

/// An authorization server, and the server that its tokens are for.
#[derive(Debug)]
pub(crate) struct Authority {
    /// The server that tokens are for, by its own name; empty if there is none.
    pub(crate) resource: String,
    pub(crate) metadata: AuthorityMetadata,
    /// The scopes that the server requires of every client.
    pub(crate) scopes: Scopes,
    /// True if no metadata describes it, so it may not even exist.
    pub(crate) guessed: bool,
}

impl Authority {
    /// Finds it through the server's challenge, or else at the well-known URLs. `issuer` is the
    /// only one that the operator accepts.
    pub(crate) async fn find(
        web: &OauthWeb,
        server: &Url,
        challenge: Option<&Challenge>,
        issuer: Option<&str>,
    ) -> Result<Self, LoginError> {
        match fetch_resource_metadata(web, server, challenge).await? {
            Some(document) => Self::from_document(web, server, &document, issuer).await,
            None => Self::from_origin(web, server).await,
        }
    }

    async fn from_document(
        web: &OauthWeb,
        server: &Url,
        document: &ResourceMetadata,
        wanted: Option<&str>,
    ) -> Result<Self, LoginError> {
        if !document.describes(server) {
            let described = document.resource.clone();
            return Err(LoginError::OtherResource { described });
        }
        let issuer = choose_issuer(document, wanted)?;
        let metadata = fetch_metadata(web, issuer).await?;
        let metadata = metadata.ok_or_else(|| LoginError::NoMetadata {
            issuer: issuer.to_owned(),
        })?;
        Ok(Self {
            resource: document.resource.clone(),
            metadata,
            scopes: document.scopes(),
            guessed: false,
        })
    }

    /// The revision of 2025-03-26 had no resource metadata: the server is its own authority.
    async fn from_origin(web: &OauthWeb, server: &Url) -> Result<Self, LoginError> {
        let origin = root_of(server);
        let described = fetch_metadata(web, &issuer_of(&origin)).await?;
        let guessed = described.is_none();
        let metadata = described.or_else(|| AuthorityMetadata::from_origin(&origin));
        let metadata = metadata.ok_or(LoginError::NoAuthority)?;
        let resource = redacted_url(server).trim_end_matches('/').to_owned();
        Ok(Self {
            resource,
            metadata,
            scopes: Scopes::default(),
            guessed,
        })
    }
}

/// Returns the authorization server to use: the one that the operator accepts, or the first.
fn choose_issuer<'a>(
    document: &'a ResourceMetadata,
    wanted: Option<&'a str>,
) -> Result<&'a str, LoginError> {
    let named = &document.authorization_servers;
    let first = named.first().ok_or(LoginError::NoAuthority)?;
    let issuer = wanted.unwrap_or(first);
    match named.iter().any(|named| named == issuer) {
        true => Ok(issuer),
        false => Err(LoginError::IssuerChanged {
            expected: issuer.to_owned(),
            found: first.clone(),
        }),
    }
}

async fn fetch_resource_metadata(
    web: &OauthWeb,
    server: &Url,
    challenge: Option<&Challenge>,
) -> Result<Option<ResourceMetadata>, LoginError> {
    let hint = challenge.and_then(|challenge| challenge.resource_metadata.as_deref());
    let hint = hint.and_then(|text| server.join(text).ok());
    for place in hint.into_iter().chain(resource_metadata_urls(server)) {
        if let Some(document) = web.fetch_document(&place).await? {
            return Ok(Some(document));
        }
    }
    Ok(None)
}

/// Metadata with another issuer than the one it was looked up for is rejected: an attacker could
/// have put it there.
async fn fetch_metadata(
    web: &OauthWeb,
    issuer: &str,
) -> Result<Option<AuthorityMetadata>, LoginError> {
    let url = Url::parse(issuer).map_err(|_| LoginError::BadIssuer {
        found: issuer.to_owned(),
    })?;
    for place in authority_metadata_urls(&url) {
        let Some(metadata) = web.fetch_document::<AuthorityMetadata>(&place).await? else {
            continue;
        };
        if metadata.issuer != issuer {
            let (expected, found) = (issuer.to_owned(), metadata.issuer);
            return Err(LoginError::OtherIssuer { expected, found });
        }
        return Ok(Some(metadata));
    }
    Ok(None)
}
