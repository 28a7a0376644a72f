//! The dated data of today, as tools of this crate read it.

use kitbag_tool_files::DatedData;

use crate::{PlatformError, PlatformServices};

/// The path of a file with a mistake is for the operator, in the log.
pub(crate) async fn read(services: &PlatformServices) -> Result<DatedData, PlatformError> {
    let paths = services.data_files.clone();
    let read = tokio::task::spawn_blocking(move || DatedData::with_files(&paths)).await;
    let read = read.expect("reading files does not panic");
    read.map_err(|error| {
        tracing::warn!(%error, "a data file cannot be used");
        PlatformError::DataFile {
            reason: error.reason(),
        }
    })
}
