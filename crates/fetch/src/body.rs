//! Reads a response body up to a limit.

use reqwest::Response;

/// Why a body could not be read completely.
#[derive(Debug, thiserror::Error)]
pub enum BodyError {
    #[error(transparent)]
    Lost(reqwest::Error),
    #[error("more than {most} bytes")]
    TooLarge { most: usize },
}

/// Returns the whole body, unless it exceeds `most` bytes.
pub async fn read_body(mut response: Response, most: usize) -> Result<Vec<u8>, BodyError> {
    if response
        .content_length()
        .is_some_and(|length| length > most as u64)
    {
        return Err(BodyError::TooLarge { most });
    }
    let mut body = Vec::new();
    while let Some(chunk) = response.chunk().await.map_err(BodyError::Lost)? {
        if body.len() + chunk.len() > most {
            return Err(BodyError::TooLarge { most });
        }
        body.extend_from_slice(&chunk);
    }
    Ok(body)
}
