//! Finds programs: on the PATH, and in the directories that only a user's shell searches.

use std::env;
use std::fs::{self, File};
use std::io::{BufRead as _, BufReader, Read as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

/// The newest version of Node.js that current servers require.
pub const NODE: u32 = 22;

/// True if a command is the path of a program, on any system.
pub fn is_path(command: &str) -> bool {
    command.contains(['/', '\\'])
}

/// Returns the path of this program for the command `kitbag`, which need not be on the PATH.
pub(crate) fn this_program(command: &str) -> Option<PathBuf> {
    (command == "kitbag")
        .then(|| env::current_exe().ok())
        .flatten()
}

/// Returns the program that a server's command without a path launches.
pub(crate) fn find_program(command: &str) -> Option<PathBuf> {
    this_program(command).or_else(|| find_on_path(command))
}

/// Returns the program of that name on the PATH.
pub fn find_on_path(command: &str) -> Option<PathBuf> {
    // The directories that the system searches for a process without a PATH.
    let folders = env::var_os("PATH").unwrap_or_else(|| "/bin:/usr/bin".into());
    env::split_paths(&folders)
        .map(|folder| folder.join(command))
        .find(|path| is_program(path))
}

/// Returns the program from a directory that users' shells search but this process does not.
pub fn find_off_path(command: &str) -> Option<PathBuf> {
    let home = PathBuf::from(env::var_os("HOME")?);
    usual_folders(&home)
        .into_iter()
        .map(|folder| folder.join(command))
        .find(|path| is_program(path))
}

/// True if a program started from a desktop, and so without a shell's PATH, finds it, too.
pub fn is_known_everywhere(program: &Path) -> bool {
    const EVERYWHERE: [&str; 5] = ["/usr/bin", "/bin", "/usr/sbin", "/sbin", "/usr/local/bin"];
    program
        .parent()
        .is_some_and(|folder| EVERYWHERE.iter().any(|known| folder == Path::new(known)))
}

/// True for a script that looks up its interpreter on the PATH.
pub fn uses_env_shebang(program: &Path) -> bool {
    read_interpreter(program).is_some_and(|first| first.ends_with("/env"))
}

/// Returns the interpreter in the first line of a script.
pub(crate) fn read_interpreter(script: &Path) -> Option<String> {
    let mut line = Vec::new();
    // A binary has no lines worth reading to their end.
    BufReader::new(File::open(script).ok()?.take(200))
        .read_until(b'\n', &mut line)
        .ok()?;
    let line = String::from_utf8(line).ok()?;
    line.strip_prefix("#!")?
        .split_whitespace()
        .next()
        .map(str::to_owned)
}

/// Returns the directory of a sufficiently new Node.js among the ones that version managers keep.
pub(crate) fn find_newer_node(needs: u32) -> Option<PathBuf> {
    let home = PathBuf::from(env::var_os("HOME")?);
    let managed = managed_nodes(&home);
    managed
        .into_iter()
        .find(|(version, _)| version.first() >= Some(&needs))
        .map(|(_, folder)| folder)
}

pub(crate) fn is_program(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|file| file.is_file() && file.permissions().mode() & 0o111 != 0)
}

fn usual_folders(home: &Path) -> Vec<PathBuf> {
    const IN_HOME: [&str; 12] = [
        ".local/bin",
        ".cargo/bin",
        ".bun/bin",
        ".deno/bin",
        ".volta/bin",
        ".asdf/shims",
        ".local/share/mise/shims",
        ".pyenv/shims",
        ".npm-global/bin",
        "go/bin",
        "n/bin",
        "bin",
    ];
    const ON_THE_MACHINE: [&str; 5] = [
        "/opt/homebrew/bin",
        "/usr/local/bin",
        "/home/linuxbrew/.linuxbrew/bin",
        "/snap/bin",
        "/usr/bin",
    ];
    let nodes = managed_nodes(home).into_iter().map(|(_, folder)| folder);
    let mine = IN_HOME.iter().map(|folder| home.join(folder));
    nodes
        .chain(mine)
        .chain(ON_THE_MACHINE.iter().map(PathBuf::from))
        .collect()
}

/// Returns the versions and directories of all Node.js that version managers keep, newest first.
fn managed_nodes(home: &Path) -> Vec<(Vec<u32>, PathBuf)> {
    let places = [
        (".nvm/versions/node", "bin"),
        (".local/share/fnm/node-versions", "installation/bin"),
        (".local/share/mise/installs/node", "bin"),
    ];
    let mut found: Vec<_> = places
        .iter()
        .flat_map(|(versions, inside)| {
            let entries = fs::read_dir(home.join(versions))
                .into_iter()
                .flatten()
                .flatten();
            entries.map(move |entry| {
                (
                    parse_version(&entry.file_name().to_string_lossy()),
                    entry.path().join(inside),
                )
            })
        })
        .filter(|(_, folder)| is_program(&folder.join("node")))
        .collect();
    found.sort();
    found.reverse();
    found
}

/// Parses `v22.1.0` into numbers.
fn parse_version(text: &str) -> Vec<u32> {
    text.trim_start_matches('v')
        .split('.')
        .map_while(|part| part.parse().ok())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn program(path: &Path, text: &str) {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
    }

    #[test]
    fn the_newest_node_that_a_version_manager_keeps_comes_first() {
        let home = tempfile::tempdir().unwrap();
        for version in ["v9.1.0", "v22.9.0", "v22.10.1", "v20.0.0"] {
            program(
                &home
                    .path()
                    .join(".nvm/versions/node")
                    .join(version)
                    .join("bin/node"),
                "",
            );
        }
        fs::create_dir_all(home.path().join(".nvm/versions/node/v24.0.0")).unwrap();
        let versions: Vec<_> = managed_nodes(home.path())
            .into_iter()
            .map(|(version, _)| version)
            .collect();
        assert_eq!(
            versions,
            [
                vec![22, 10, 1],
                vec![22, 9, 0],
                vec![20, 0, 0],
                vec![9, 1, 0]
            ]
        );
        assert!(usual_folders(home.path())[0].ends_with("v22.10.1/bin"));
    }

    #[test]
    fn the_interpreter_of_a_script_is_read() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("npx");
        program(&path, "#!/usr/bin/env node\nrun()\n");
        assert!(uses_env_shebang(&path) && is_program(&path));
        program(&path, "#!/opt/python3.9 -u\n");
        assert_eq!(read_interpreter(&path).as_deref(), Some("/opt/python3.9"));
        program(&path, "\u{7f}ELF");
        assert_eq!(read_interpreter(&path), None);
    }

    #[test]
    fn a_program_in_a_home_is_not_found_from_a_desktop() {
        assert!(is_known_everywhere(Path::new("/usr/bin/node")));
        assert!(!is_known_everywhere(Path::new(
            "/home/ann/.nvm/versions/node/v22.1.0/bin/npx"
        )));
    }
}
