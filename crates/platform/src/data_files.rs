//! Reads the dated data for the tools of this crate.

use kitbag_tool_files::DatedData;

use crate::{PlatformError, PlatformServices};

/// Logs an error with its path; the caller gets the reason only.
pub(crate) async fn read_dated_data(
    services: &PlatformServices,
) -> Result<DatedData, PlatformError> {
    let paths = services.data_files.clone();
    let read = tokio::task::spawn_blocking(move || DatedData::with_files(&paths)).await;
    let read = read.expect("reading files does not panic");
    read.map_err(|error| {
        tracing::warn!(%error, "invalid data file");
        PlatformError::DataFile {
            reason: error.reason(),
        }
    })
}
