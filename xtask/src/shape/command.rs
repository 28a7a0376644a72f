//! `cargo xtask shape`: reads its options and says what to print.

use std::path::{Path, PathBuf};

use anyhow::{Context, bail};

use super::{goals, measure, report};

/// Measures the checkout in `root`, or the one after `--in`, and returns the text to print.
pub fn run(root: &Path, arguments: &[&str]) -> anyhow::Result<String> {
    let options = Options::read(root, arguments)?;
    let shape = measure(&options.root)?;
    let missed = goals::missed_again(&shape);
    if options.check && !missed.is_empty() {
        bail!(
            "goals that were met are missed again:\n{}",
            missed.join("\n")
        );
    }
    Ok(match options.form {
        Form::Tables => report::tables(&shape),
        Form::Names => report::names(&shape),
        Form::Json => serde_json::to_string_pretty(&report::json(&shape))?,
    })
}

struct Options {
    root: PathBuf,
    form: Form,
    check: bool,
}

enum Form {
    Tables,
    Names,
    Json,
}

impl Options {
    fn read(root: &Path, arguments: &[&str]) -> anyhow::Result<Self> {
        let mut options = Self {
            root: root.to_owned(),
            form: Form::Tables,
            check: false,
        };
        let mut words = arguments.iter();
        while let Some(word) = words.next() {
            match *word {
                "--json" => options.form = Form::Json,
                "--names" => options.form = Form::Names,
                "--check" => options.check = true,
                "--in" => {
                    let folder = words
                        .next()
                        .context("`--in` needs the folder of a checkout")?;
                    options.root = folder.into();
                }
                other => bail!(
                    "`cargo xtask shape` does not know `{other}`; it knows --names, --json, --check and --in DIR"
                ),
            }
        }
        Ok(options)
    }
}
