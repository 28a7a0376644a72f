//! The templates that come with the binary.

use crate::set::TemplateOrigin;
use crate::template::TemplateFile;

/// Returns the files of `crates/intents/templates`, as they were when the binary was built.
pub fn files() -> Vec<TemplateFile> {
    let files = TEXTS.iter().map(|(name, text)| TemplateFile {
        path: format!("built-in/{name}").into(),
        text: (*text).to_owned(),
        origin: TemplateOrigin::BuiltIn,
    });
    files.collect()
}

macro_rules! texts {
    ($($name:literal),* $(,)?) => {
        [$(($name, include_str!(concat!("../templates/", $name)))),*]
    };
}

const TEXTS: [(&str, &str); 0] = texts![];
