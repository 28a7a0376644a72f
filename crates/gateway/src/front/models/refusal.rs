//! The reasons why the gateway itself answers a request to a model, in the form in which the
//! vendor's clients read errors.

use axum::response::Response as HttpResponse;
use http::StatusCode;
use kitbag_fetch::relay::RelayError;
use kitbag_llm::tool_schema::Vendor;
use serde_json::{Value, json};

use crate::call::failure::Failure;
use crate::call::reply::rejection_status;
use crate::front::response::json as json_response;
use crate::models::model_vendors::VendorError;
use crate::telemetry::refusals::Refused;

#[derive(Debug, thiserror::Error)]
pub(super) enum ModelRefusal {
    #[error(
        "this gateway passes no requests on to models; set `enabled = true` under [models] in its configuration"
    )]
    Disabled,
    #[error(
        "this gateway wants an API key of its own: send `x-kitbag-key: kb_…` (make one with `kitbag key create`)"
    )]
    KeyWanted,
    #[error(transparent)]
    NotAdmitted(Refused),
    #[error("{reason}")]
    UnknownTenant { reason: String },
    #[error(transparent)]
    Unreadable(#[from] Failure),
    #[error("the path or query of the request is not one that HTTP allows")]
    OddTarget,
    #[error(transparent)]
    Vendor(#[from] VendorError),
    #[error("{place} could not be reached: {error}")]
    Unreached { place: String, error: RelayError },
}

impl From<Refused> for ModelRefusal {
    fn from(refused: Refused) -> Self {
        match refused {
            Refused::KeyWanted | Refused::NotABearer => Self::KeyWanted,
            other => Self::NotAdmitted(other),
        }
    }
}

impl ModelRefusal {
    pub(super) fn for_client_of(&self, vendor: Vendor) -> HttpResponse {
        let status = self.status();
        let message = format!("Kitbag: {self}");
        json_response(status, body(vendor, status, &message).to_string())
    }

    fn status(&self) -> StatusCode {
        match self {
            Self::Disabled => StatusCode::NOT_FOUND,
            Self::KeyWanted => StatusCode::UNAUTHORIZED,
            Self::NotAdmitted(Refused::TooManyRequests) => StatusCode::TOO_MANY_REQUESTS,
            Self::NotAdmitted(Refused::Foreign { .. } | Refused::CallsNothing)
            | Self::UnknownTenant { .. } => StatusCode::FORBIDDEN,
            Self::NotAdmitted(Refused::Store(_)) => StatusCode::SERVICE_UNAVAILABLE,
            Self::NotAdmitted(_) => StatusCode::UNAUTHORIZED,
            Self::Unreadable(failure) => rejection_status(failure),
            Self::OddTarget | Self::Vendor(VendorError::OutsidePath) => StatusCode::BAD_REQUEST,
            Self::Vendor(_) => StatusCode::INTERNAL_SERVER_ERROR,
            Self::Unreached { .. } => StatusCode::BAD_GATEWAY,
        }
    }
}

fn body(vendor: Vendor, status: StatusCode, message: &str) -> Value {
    let kind = error_type(status);
    match vendor {
        Vendor::Anthropic => {
            json!({ "type": "error", "error": { "type": kind, "message": message } })
        }
        Vendor::OpenAi => {
            json!({ "error": { "message": message, "type": kind, "param": null, "code": null } })
        }
    }
}

/// Returns the name that the vendors have for errors of a status.
fn error_type(status: StatusCode) -> &'static str {
    match status {
        StatusCode::UNAUTHORIZED => "authentication_error",
        StatusCode::FORBIDDEN => "permission_error",
        StatusCode::NOT_FOUND => "not_found_error",
        StatusCode::PAYLOAD_TOO_LARGE => "request_too_large",
        StatusCode::TOO_MANY_REQUESTS => "rate_limit_error",
        status if status.is_server_error() => "api_error",
        _ => "invalid_request_error",
    }
}
