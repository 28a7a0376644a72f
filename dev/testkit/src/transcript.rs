//! The terminal transcripts of a document, executed and compared.
//!
//! In a block marked `console`, a line that begins with `$ ` is executed, and the following lines
//! must be its output. `…` matches whatever differs from run to run: a part of a line, or by itself
//! any number of lines. The home directory is written as `~`. A block marked `file=PATH` creates a
//! file.

use std::fs;
use std::path::Path;
use std::process::Command;

#[derive(Debug)]
pub struct Transcript(Vec<Act>);

#[derive(Debug)]
enum Act {
    Write { path: String, text: String },
    Type(Step),
}

#[derive(Debug)]
pub struct Step {
    pub command: String,
    answer: Vec<String>,
}

/// A terminal that executes commands.
#[derive(Debug)]
pub struct Terminal<'a> {
    pub home: &'a Path,
    /// The `PATH` for finding programs.
    pub path: String,
}

impl Transcript {
    /// Parses all blocks of a document with exactly this mark.
    pub fn read(document: &str, mark: &str) -> Self {
        let mut acts = Vec::new();
        for (info, body) in blocks(document) {
            if let Some((_, path)) = info.split_once("file=") {
                acts.push(Act::Write {
                    path: path.to_owned(),
                    text: body.join("\n"),
                });
            } else if info == mark {
                acts.extend(steps(&body).into_iter().map(Act::Type));
            }
        }
        // A file after the last command belongs to another transcript.
        let last = acts.iter().rposition(|act| matches!(act, Act::Type(_)));
        acts.truncate(last.map_or(0, |at| at + 1));
        Self(acts)
    }

    pub fn steps(&self) -> impl Iterator<Item = &Step> {
        self.0.iter().filter_map(|act| {
            if let Act::Type(step) = act {
                Some(step)
            } else {
                None
            }
        })
    }

    #[track_caller]
    pub fn replay(&self, terminal: &Terminal<'_>) {
        for act in &self.0 {
            match act {
                Act::Write { path, text } => terminal.write(path, text),
                Act::Type(step) => step.replay(terminal),
            }
        }
    }
}

impl Step {
    #[track_caller]
    fn replay(&self, terminal: &Terminal<'_>) {
        let (said, stderr) = terminal.run(&self.command);
        let said: Vec<&str> = said.lines().collect();
        let expected: Vec<&str> = self.answer.iter().map(String::as_str).collect();
        assert!(
            lines_match(&expected, &said),
            "$ {}\n--- the document shows\n{}\n--- but it is\n{}\n--- and on stderr\n{stderr}",
            self.command,
            expected.join("\n"),
            said.join("\n"),
        );
    }
}

impl Terminal<'_> {
    fn write(&self, path: &str, text: &str) {
        let file = self.home.join(path.trim_start_matches("~/"));
        fs::create_dir_all(file.parent().expect("it is below the home")).expect("the home is ours");
        fs::write(&file, text).expect("the home is ours");
    }

    /// Returns the command's stdout and stderr.
    pub fn run(&self, command: &str) -> (String, String) {
        let mut bash = Command::new("bash");
        bash.args(["--norc", "-c", command])
            .current_dir(self.home)
            .env_clear();
        bash.env("HOME", self.home)
            .env("PATH", &self.path)
            .env("COLUMNS", "80");
        let output = bash.output().expect("bash is installed");
        (self.text(&output.stdout), self.text(&output.stderr))
    }

    fn text(&self, bytes: &[u8]) -> String {
        let home = self.home.display().to_string();
        String::from_utf8_lossy(bytes).replace(&home, "~")
    }
}

/// The fenced blocks, each with the text after the fence.
fn blocks(document: &str) -> Vec<(String, Vec<String>)> {
    let mut blocks = Vec::new();
    let mut lines = document.lines();
    while let Some(line) = lines.next() {
        if let Some(info) = line.strip_prefix("```") {
            let body = lines
                .by_ref()
                .take_while(|line| *line != "```")
                .map(str::to_owned)
                .collect();
            blocks.push((info.to_owned(), body));
        }
    }
    blocks
}

fn steps(body: &[String]) -> Vec<Step> {
    let mut steps: Vec<Step> = Vec::new();
    for line in body {
        if let Some(command) = line.strip_prefix("$ ") {
            steps.push(Step {
                command: command.to_owned(),
                answer: Vec::new(),
            });
        } else if let Some(step) = steps.last_mut() {
            step.answer.push(line.clone());
        }
    }
    steps
}

fn lines_match(expected: &[&str], said: &[&str]) -> bool {
    match (expected, said) {
        ([], []) => true,
        (["…", rest @ ..], _) => {
            (0..=said.len()).any(|skipped| lines_match(rest, &said[skipped..]))
        }
        ([line, rest @ ..], [first, others @ ..]) => {
            line_matches(line, first) && lines_match(rest, others)
        }
        _ => false,
    }
}

fn line_matches(expected: &str, said: &str) -> bool {
    match expected.split_once('…') {
        None => expected == said.trim_end(),
        Some((begin, rest)) => said.strip_prefix(begin).is_some_and(|said| {
            said.char_indices()
                .map(|(at, _)| at)
                .chain([said.len()])
                .any(|at| line_matches(rest, &said[at..]))
        }),
    }
}
