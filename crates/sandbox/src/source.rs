//! The text of a program, made ready for the engine by the crate that reads programs.

use kitbag_script::{ProgramShape, SyntaxMistake};

pub(crate) fn javascript(source: &str) -> Result<String, SyntaxMistake> {
    Ok(source.to_owned())
}

pub(crate) fn shape(source: &str) -> Result<ProgramShape, SyntaxMistake> {
    Ok(ProgramShape {
        code: source.to_owned(),
        literals: Vec::new(),
        tools: Vec::new(),
        purpose: None,
    })
}
