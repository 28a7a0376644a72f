//! A body of several parts, some of which are files.

use http::HeaderValue;
use serde_json::{Map, Value};

use super::ActionFault;
use super::body::decode_base64;
use crate::request::PendingBody;

/// Returns the body; each member is a part, and a list is several parts with the same name.
pub(super) fn encode_multipart(members: &Map<String, Value>) -> Result<PendingBody, ActionFault> {
    let boundary = random_boundary();
    let mut bytes = Vec::new();
    for (name, value) in members {
        for part in part_values(value) {
            bytes.extend(format!("--{boundary}\r\n").into_bytes());
            bytes.extend(encode_part(name, part)?);
        }
    }
    bytes.extend(format!("--{boundary}--\r\n").into_bytes());
    let content_type = format!("multipart/form-data; boundary={boundary}");
    Ok(PendingBody {
        content_type: HeaderValue::try_from(content_type).expect("it has letters and digits only"),
        bytes: bytes.into(),
    })
}

fn part_values(value: &Value) -> &[Value] {
    match value {
        Value::Array(items) => items,
        single => std::slice::from_ref(single),
    }
}

fn encode_part(name: &str, part: &Value) -> Result<Vec<u8>, ActionFault> {
    let name = escape_quotes(name);
    let (head, bytes) = match parse_file(part)? {
        Some(file) => (file.disposition(&name), file.bytes),
        None => (format!("name=\"{name}\"\r\n"), plain_bytes(part)),
    };
    let mut encoded = format!("Content-Disposition: form-data; {head}\r\n").into_bytes();
    encoded.extend(bytes);
    encoded.extend(b"\r\n");
    Ok(encoded)
}

/// A part with its own name and type.
struct FilePart {
    filename: String,
    media_type: String,
    bytes: Vec<u8>,
}

impl FilePart {
    fn disposition(&self, name: &str) -> String {
        let (filename, media_type) = (
            escape_quotes(&self.filename),
            strip_control(&self.media_type),
        );
        format!("name=\"{name}\"; filename=\"{filename}\"\r\nContent-Type: {media_type}\r\n")
    }
}

fn parse_file(part: &Value) -> Result<Option<FilePart>, ActionFault> {
    let (bytes, media_type) = match (part["base64"].as_str(), part["text"].as_str()) {
        (Some(base64), _) => (decode_base64(base64)?, "application/octet-stream"),
        (None, Some(text)) => (text.as_bytes().to_vec(), "text/plain"),
        (None, None) => return Ok(None),
    };
    Ok(Some(FilePart {
        filename: part["filename"].as_str().unwrap_or("file").to_owned(),
        media_type: part["type"].as_str().unwrap_or(media_type).to_owned(),
        bytes,
    }))
}

fn plain_bytes(value: &Value) -> Vec<u8> {
    match value {
        Value::String(text) => text.clone().into_bytes(),
        other => other.to_string().into_bytes(),
    }
}

/// Browsers escape these three, because a quoted string may not contain them.
fn escape_quotes(text: &str) -> String {
    text.replace('"', "%22")
        .replace('\r', "%0D")
        .replace('\n', "%0A")
}

/// A line break would begin a header of the caller's own.
fn strip_control(text: &str) -> String {
    text.chars().filter(|c| !c.is_control()).collect()
}

/// Enough random bits that the parts cannot contain the boundary.
fn random_boundary() -> String {
    let mut random = [0; 16];
    getrandom::fill(&mut random).expect("the machine has random numbers");
    let digits: String = random.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("kitbag-{digits}")
}
