//! The gateway's own errors for model requests, in the format of the vendor's clients.

use axum::response::Response as HttpResponse;
use http::StatusCode;
use kitbag_fetch::relay::RelayError;
use kitbag_llm::tool_schema::Vendor;
use serde_json::{Value, json};

use crate::call::failure::Failure;
use crate::call::reply::rejection_status;
use crate::front::response::json_response;
use crate::models::model_vendors::VendorError;
use crate::telemetry::rejections::Rejection;

#[derive(Debug, thiserror::Error)]
pub(super) enum ModelRejection {
    #[error(
        "this gateway does not forward model requests; set `enabled = true` under [models] in its configuration"
    )]
    Disabled,
    #[error(
        "this gateway requires its own API key: send `x-kitbag-key: kb_…` (create one with `kitbag key create`)"
    )]
    KeyMissing,
    #[error(transparent)]
    NotAdmitted(Rejection),
    #[error("{reason}")]
    UnknownTenant { reason: String },
    #[error(transparent)]
    Unreadable(#[from] Failure),
    #[error("invalid path or query")]
    OddTarget,
    #[error(transparent)]
    Vendor(#[from] VendorError),
    #[error("{url} could not be reached: {error}")]
    Unreached { url: String, error: RelayError },
}

impl From<Rejection> for ModelRejection {
    fn from(rejection: Rejection) -> Self {
        match rejection {
            Rejection::KeyMissing | Rejection::NotABearer => Self::KeyMissing,
            other => Self::NotAdmitted(other),
        }
    }
}

impl ModelRejection {
    pub(super) fn to_response(&self, vendor: Vendor) -> HttpResponse {
        let status = self.status();
        let message = format!("Kitbag: {self}");
        json_response(status, error_body(vendor, status, &message).to_string())
    }

    fn status(&self) -> StatusCode {
        match self {
            Self::Disabled => StatusCode::NOT_FOUND,
            Self::KeyMissing => StatusCode::UNAUTHORIZED,
            Self::NotAdmitted(Rejection::TooManyRequests) => StatusCode::TOO_MANY_REQUESTS,
            Self::NotAdmitted(Rejection::Foreign { .. } | Rejection::OperatorKey)
            | Self::UnknownTenant { .. } => StatusCode::FORBIDDEN,
            Self::NotAdmitted(Rejection::Store(_)) => StatusCode::SERVICE_UNAVAILABLE,
            Self::NotAdmitted(_) => StatusCode::UNAUTHORIZED,
            Self::Unreadable(failure) => rejection_status(failure),
            Self::OddTarget | Self::Vendor(VendorError::OutsidePath) => StatusCode::BAD_REQUEST,
            Self::Vendor(_) => StatusCode::INTERNAL_SERVER_ERROR,
            Self::Unreached { .. } => StatusCode::BAD_GATEWAY,
        }
    }
}

fn error_body(vendor: Vendor, status: StatusCode, message: &str) -> Value {
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

/// Returns the vendors' name for errors of a status.
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
