//! Reading an answer up to a limit.

use reqwest::Response;

/// The reason why a body could not be read whole.
#[derive(Debug, thiserror::Error)]
pub enum BodyError {
    #[error(transparent)]
    Lost(reqwest::Error),
    #[error("more than {most} bytes")]
    TooLarge { most: usize },
}

/// Returns the whole body, if it is no longer than `most` bytes.
pub async fn body(mut response: Response, most: usize) -> Result<Vec<u8>, BodyError> {
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
