//! The dated data of today: that of the binary, and that of the operator's files over it.
//!
//! The files are small and are read for each call, so that a change holds at once.

use std::path::Path;
use std::sync::LazyLock;

use kitbag_manifest::{DatedData, ToolFileError};

use crate::{PlatformError, PlatformServices};

pub(crate) async fn read(services: &PlatformServices) -> Result<DatedData, PlatformError> {
    static BUILT_IN: LazyLock<DatedData> = LazyLock::new(DatedData::built_in);
    let mut data = BUILT_IN.clone();
    for path in &services.data_files {
        data = with_file(&data, path).await?;
    }
    Ok(data)
}

async fn with_file(data: &DatedData, path: &Path) -> Result<DatedData, PlatformError> {
    let text = tokio::fs::read_to_string(path).await.map_err(|error| {
        tracing::warn!(path = %path.display(), %error, "a data file cannot be read");
        PlatformError::DataFile {
            reason: "it cannot be read".to_owned(),
        }
    })?;
    let (data, mistakes) = data.with_file(path, &text);
    match mistakes.first() {
        None => Ok(data),
        Some(mistake) => Err(told(mistake)),
    }
}

/// The path is for the operator, in the log.
fn told(error: &ToolFileError) -> PlatformError {
    tracing::warn!(%error, "a data file has a mistake");
    PlatformError::DataFile {
        reason: format!("line {}, `{}`: {}", error.line, error.key, error.mistake),
    }
}
