//! Uploads the images of an answer to the tenant's storage, and returns their addresses instead.
//!
//! An image that cannot be stored stays in the answer: it was generated, and paid for.

use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Method, StatusCode};
use kitbag_tool_spec::StorageSpec;
use kitbag_wire::raw;
use serde_json::{Map, Value, json};
use url::Url;

use super::ActionFault;
use super::answer::{ActionAnswer, AnswerPart};
use super::run::ActionRun;
use crate::auth::Proof;
use crate::fault::RequestFault;
use crate::request::{PendingBody, PendingRequest};

/// Long enough for a user to open the image, and short enough for an address that ends up in a log.
const DOWNLOAD_LIFETIME: Duration = Duration::from_secs(60 * 60);

impl ActionRun<'_> {
    /// Stores the images, unless the caller wants them inline or the tenant has no storage.
    pub(super) async fn store_images(
        &self,
        mut answer: ActionAnswer,
        arguments: &Map<String, Value>,
    ) -> ActionAnswer {
        let Some(storage) = &self.api.declaration.storage else {
            return answer;
        };
        let has_images = answer.content.iter().any(AnswerPart::is_image);
        let is_inline = arguments.get(&storage.unless) == Some(&Value::Bool(true));
        if !has_images || is_inline {
            return answer;
        }
        let missing = self.credential.missing_fields(&storage.credential_fields());
        if !missing.is_empty() {
            let words = self.missing_storage_hint(&missing);
            answer.content.push(AnswerPart::Text(words));
            return answer;
        }
        let mut reasons = Vec::new();
        for part in &mut answer.content {
            reasons.extend(self.store_image(storage, part).await.err());
        }
        let notes = reasons.iter().map(storage_error_part);
        answer.content.extend(notes);
        answer
    }

    fn missing_storage_hint(&self, missing: &[String]) -> String {
        let credential = self.api.declaration.credential.as_ref();
        let name = credential.map(ToString::to_string).unwrap_or_default();
        let commands = missing.iter();
        let commands = commands.map(|field| format!("kitbag secret set {name} {field}"));
        let commands: Vec<String> = commands.collect();
        format!(
            "Nothing was stored. To store images and show their addresses here, the operator can run: {}",
            commands.join("; ")
        )
    }

    /// Replaces an image by its address.
    async fn store_image(
        &self,
        storage: &StorageSpec,
        part: &mut AnswerPart,
    ) -> Result<(), StorageError> {
        let AnswerPart::Image { base64, media_type } = part else {
            return Ok(());
        };
        let bytes = STANDARD.decode(base64)?;
        let put = self.put_image(storage, bytes.into(), media_type);
        let kept = self.deadline.within(put).await?;
        *part = AnswerPart::Json(raw(&kept));
        Ok(())
    }

    async fn put_image(
        &self,
        storage: &StorageSpec,
        bytes: Bytes,
        media_type: &str,
    ) -> Result<Value, StorageError> {
        let nothing = Map::new();
        let field = |name: &str| self.credential.field(name).map(str::to_owned);
        let values = self.action.fill_values(&nothing, &field);
        let folder = self.api.storage_address(&storage.url, &values)?;
        let url = new_object_url(&folder, media_type)?;
        let proof = self.fixed_proof(&storage.auth, &values)?;
        let mut kept = json!({ "url": url.as_str(), "type": media_type, "bytes": bytes.len() });
        if let Proof::Aws(signer) = &proof {
            kept["download"] = signer.presign(&url, DOWNLOAD_LIFETIME)?.as_str().into();
            kept["download_seconds"] = DOWNLOAD_LIFETIME.as_secs().into();
        }
        let request = PendingRequest {
            method: Method::PUT,
            url,
            accept: HeaderValue::from_static("*/*"),
            body: Some(PendingBody {
                content_type: HeaderValue::try_from(media_type)?,
                bytes,
            }),
            own_headers: HeaderMap::new(),
            proof,
            stayed_at_origin: true,
        };
        let response = self.api.client.send(request.build()?).await?;
        match response.status() {
            status if status.is_success() => Ok(kept),
            status => Err(StorageError::Refused { status }),
        }
    }
}

/// The message continues after "the image could not be stored".
#[derive(Debug, thiserror::Error)]
enum StorageError {
    #[error("the API sent invalid base64")]
    Base64(#[from] base64::DecodeError),
    #[error("the API named a media type that HTTP does not allow")]
    MediaType(#[from] http::header::InvalidHeaderValue),
    #[error("no name could be generated for it: {0}")]
    Random(#[from] getrandom::Error),
    #[error("its URL is invalid: {0}")]
    Url(#[from] url::ParseError),
    #[error("the storage answered with the status {status}")]
    Refused { status: StatusCode },
    #[error("the storage {0}")]
    Action(#[from] ActionFault),
}

impl From<RequestFault> for StorageError {
    fn from(fault: RequestFault) -> Self {
        Self::Action(fault.into())
    }
}

fn storage_error_part(reason: &StorageError) -> AnswerPart {
    AnswerPart::Text(format!(
        "The image could not be stored, so it is in the answer: {reason}"
    ))
}

/// Returns a unique address for an image.
fn new_object_url(folder: &Url, media_type: &str) -> Result<Url, StorageError> {
    let mut name = [0; 16];
    getrandom::fill(&mut name)?;
    let name = u128::from_le_bytes(name);
    let ending = file_extension(media_type);
    let folder = folder.as_str().trim_end_matches('/');
    Ok(Url::parse(&format!("{folder}/{name:032x}.{ending}"))?)
}

/// Returns the leading letters and digits of the subtype. The API chose the type, and any other
/// character could lead to another path in the storage.
fn file_extension(media_type: &str) -> &str {
    let subtype = media_type
        .split_once('/')
        .map_or("", |(_, subtype)| subtype);
    let end = subtype.find(|c: char| !c.is_ascii_alphanumeric());
    match &subtype[..end.unwrap_or(subtype.len())] {
        "" => "bin",
        ending => ending,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_media_type_from_the_api_cannot_change_an_images_path() {
        let folder = Url::parse("https://bucket.example/images/").unwrap();
        for (media_type, expected) in [
            ("image/png", "png"),
            ("image/svg+xml", "svg"),
            ("image/png;base64", "png"),
            ("image/png\\..\\..\\other", "png"),
            ("image/..\\other", "bin"),
            ("image/?acl", "bin"),
            ("image/x?acl", "x"),
            ("image/x#", "x"),
            ("image/%2e%2e%2fother", "bin"),
            ("image/a/../../other", "a"),
            ("image", "bin"),
            ("", "bin"),
        ] {
            let url = new_object_url(&folder, media_type).unwrap();
            let name = url.as_str().strip_prefix(folder.as_str()).unwrap();
            let (random, ending) = name.split_at(32);
            assert!(random.chars().all(|c| c.is_ascii_hexdigit()), "{url}");
            assert_eq!(ending, format!(".{expected}"), "{media_type}");
        }
    }
}
