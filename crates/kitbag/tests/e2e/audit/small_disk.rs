//! A disk that is really full: a small file system of its own, in memory.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Goes with the test.
#[derive(Debug)]
pub(super) struct SmallDisk {
    at: PathBuf,
}

impl SmallDisk {
    /// Mounts one of so many megabytes. Only the superuser may, so elsewhere there is none, and
    /// the test says that it was left out.
    pub(super) fn mount(at: PathBuf, megabytes: u32) -> Option<Self> {
        fs::create_dir(&at).unwrap();
        let size = format!("size={megabytes}m");
        let mounted = Command::new("mount")
            .args(["-t", "tmpfs", "-o", &size, "tmpfs"])
            .arg(&at)
            .output();
        if mounted.is_ok_and(|output| output.status.success()) {
            return Some(Self { at });
        }
        eprintln!(
            "LEFT OUT: this needs a disk that can be filled, and mount is not permitted here"
        );
        None
    }

    pub(super) fn path(&self) -> &Path {
        &self.at
    }

    /// Takes every byte there is.
    pub(super) fn fill(&self) {
        let mut file = fs::File::create(self.at.join("filler")).unwrap();
        for size in [65_536, 512, 1] {
            while file.write_all(&vec![b'x'; size]).is_ok() {}
        }
    }

    /// Gives them back.
    pub(super) fn clear(&self) {
        fs::remove_file(self.at.join("filler")).unwrap();
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        // Lazily: the gateway may still have files open there.
        let _ = Command::new("umount").arg("-l").arg(&self.at).status();
    }
}
