//! The request that follows a redirect, if it is allowed.

use http::{Method, StatusCode};
use reqwest::Response;
use url::Url;

use crate::fault::{RequestFault, origin_of};
use crate::request::PendingRequest;

/// Returns the address that an answer redirects to, if it does.
pub(crate) fn redirect_location(response: &Response) -> Result<Option<String>, RequestFault> {
    kitbag_fetch::redirect::redirect_location(response)
        .map_err(|error| RequestFault::redirect(error.to_string()))
}

/// Returns the next request, which carries secrets only if it never left the API's origin: an
/// intermediate server could choose the way back.
pub(crate) fn redirected_request(
    request: PendingRequest,
    status: StatusCode,
    location: &str,
) -> Result<PendingRequest, RequestFault> {
    let url = destination(&request.url, location)?;
    let stays = url.origin() == request.url.origin();
    let (method, body) = match request.method {
        Method::GET | Method::HEAD => (request.method, request.body),
        method if keeps_method(status) => (method, request.body),
        _ => (Method::GET, None),
    };
    if !stays && (body.is_some() || !matches!(method, Method::GET | Method::HEAD)) {
        let to = origin_of(&url);
        return Err(RequestFault::redirect(format!(
            "to {to}, which is not part of this API, so the request is not sent there"
        )));
    }
    Ok(PendingRequest {
        method,
        url,
        body,
        stayed_at_origin: request.stayed_at_origin && stays,
        ..request
    })
}

fn destination(from: &Url, location: &str) -> Result<Url, RequestFault> {
    let url = from
        .join(location)
        .map_err(|error| RequestFault::redirect(format!("to an invalid URL: {error}")))?;
    if !matches!(url.scheme(), "http" | "https") {
        let reason = format!("to a `{}:` address", url.scheme());
        return Err(RequestFault::redirect(reason));
    }
    if !url.username().is_empty() || url.password().is_some() {
        let reason = format!("to {} with a user name in it", origin_of(&url));
        return Err(RequestFault::redirect(reason));
    }
    Ok(url)
}

/// Browsers turn a request with a body into a GET after every other status, and so does Kitbag.
fn keeps_method(status: StatusCode) -> bool {
    matches!(
        status,
        StatusCode::TEMPORARY_REDIRECT | StatusCode::PERMANENT_REDIRECT
    )
}
