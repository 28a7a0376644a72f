//! A small in-memory file system that can really be full.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Unmounted when dropped.
#[derive(Debug)]
pub(super) struct SmallDisk {
    at: PathBuf,
}

impl SmallDisk {
    /// Mounts a file system of this size. Requires root; otherwise returns `None` and prints that the test
    /// is skipped.
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

    /// Fills all free space.
    pub(super) fn fill(&self) {
        let mut file = fs::File::create(self.at.join("filler")).unwrap();
        for size in [65_536, 512, 1] {
            while file.write_all(&vec![b'x'; size]).is_ok() {}
        }
    }

    /// Frees the space again.
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
