//! The request that a redirect makes of another, if it may be made.

use http::{Method, StatusCode};
use reqwest::Response;
use url::Url;

use crate::error::{ProviderFault, origin};
use crate::request::PendingRequest;
use crate::{ProviderSpec, RequestJudge, subject, target};

/// Returns the address that an answer redirects to, if it does.
pub(crate) fn location(response: &Response) -> Result<Option<String>, ProviderFault> {
    kitbag_fetch::redirect::location(response).map_err(|error| refused(error.to_string()))
}

/// Returns the next request, which carries secrets only if it never left the API's origin: the
/// server in between chose the way back.
pub(crate) fn next(
    spec: &ProviderSpec,
    request: PendingRequest,
    status: StatusCode,
    location: &str,
) -> Result<PendingRequest, ProviderFault> {
    let url = destination(&request.url, location)?;
    let stays = url.origin() == request.url.origin();
    let (method, body) = match request.method {
        Method::GET | Method::HEAD => (request.method, request.body),
        method if keeps_method(status) => (method, request.body),
        _ => (Method::GET, None),
    };
    if !stays && (body.is_some() || !matches!(method, Method::GET | Method::HEAD)) {
        let to = origin(&url);
        return Err(refused(format!(
            "to {to}, and what is sent there would leave this API"
        )));
    }
    spec.allow(&method)?;
    Ok(PendingRequest {
        method,
        url,
        body,
        stayed_at_origin: request.stayed_at_origin && stays,
    })
}

fn destination(from: &Url, location: &str) -> Result<Url, ProviderFault> {
    let url = from
        .join(location)
        .map_err(|error| refused(format!("not to a URL: {error}")))?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err(refused(format!("to a `{}:` address", url.scheme())));
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(refused(format!("to {} with a user in it", origin(&url))));
    }
    Ok(url)
}

/// Browsers turn a request with a body into a GET after every other status, and so do we.
fn keeps_method(status: StatusCode) -> bool {
    matches!(
        status,
        StatusCode::TEMPORARY_REDIRECT | StatusCode::PERMANENT_REDIRECT
    )
}

/// Checks a request that a redirect makes at the API itself as a call: it stays below the base, and
/// the caller may make it. The reason names no rule, since the API chose the path.
pub(crate) fn judge(
    spec: &ProviderSpec,
    request: &PendingRequest,
    judge: RequestJudge<'_>,
) -> Result<(), ProviderFault> {
    if !target::is_same_api(&spec.url, &request.url) {
        return Ok(());
    }
    let Some(path) = target::relative(&spec.url, &request.url) else {
        let outside = "to a place outside its base address, where calls may not go";
        return Err(refused(outside));
    };
    match judge(&subject(&request.method, path)) {
        true => Ok(()),
        false => Err(refused("to a path that the rules do not permit")),
    }
}

fn refused(reason: impl Into<String>) -> ProviderFault {
    ProviderFault::Redirect {
        reason: reason.into(),
    }
}
