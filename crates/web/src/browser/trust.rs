//! The operator's certificate authorities, in the form that Chromium reads: an NSS database in its
//! home.
//!
//! There is a flag that names trusted keys, but it accepts any certificate whose chain merely
//! contains such a key, and an authority's certificate is public.

use std::ffi::OsString;
use std::io;
use std::path::Path;
use std::process::Stdio;

use tokio::process::Command;

use super::error::BrowserError;
use crate::RootCertificates;

/// Writes the authorities into the home of a new Chromium.
pub(super) async fn write_authorities(
    roots: &RootCertificates,
    home: &Path,
) -> Result<(), BrowserError> {
    if roots.as_pem().is_empty() {
        return Ok(());
    }
    let database = home.join(".pki/nssdb");
    std::fs::create_dir_all(&database).map_err(|error| write_error(&error))?;
    run_certutil(&database, &["-N", "--empty-password"]).await?;
    for (index, pem) in roots.as_pem().iter().enumerate() {
        let name = format!("kitbag-{index}");
        let file = home.join(format!("{name}.pem"));
        std::fs::write(&file, pem).map_err(|error| write_error(&error))?;
        let file = file.to_string_lossy();
        // `C`: trusted to sign the certificates of sites.
        run_certutil(&database, &["-A", "-t", "C,,", "-n", &name, "-i", &file]).await?;
    }
    Ok(())
}

async fn run_certutil(database: &Path, arguments: &[&str]) -> Result<(), BrowserError> {
    let mut database_argument = OsString::from("sql:");
    database_argument.push(database);
    let mut command = Command::new("certutil");
    command.arg("-d").arg(database_argument).args(arguments);
    let done = command
        .stdin(Stdio::null())
        .kill_on_drop(true)
        .output()
        .await;
    match done {
        Ok(output) if output.status.success() => Ok(()),
        Ok(output) => Err(BrowserError::NotStarted {
            reason: format!(
                "certutil: {}",
                String::from_utf8_lossy(&output.stderr).trim()
            ),
        }),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Err(BrowserError::MissingCertutil),
        Err(error) => Err(write_error(&error)),
    }
}

fn write_error(error: &io::Error) -> BrowserError {
    BrowserError::NotStarted {
        reason: format!("its certificates could not be written: {error}"),
    }
}
