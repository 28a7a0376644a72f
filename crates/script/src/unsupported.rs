//! The features of JavaScript and TypeScript that a program here cannot use, and their remedies.

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Unsupported {
    #[error("an enum has no counterpart in JavaScript")]
    Enum,
    #[error("a namespace with values has no counterpart in JavaScript")]
    Namespace,
    #[error("a parameter that declares a property has no counterpart in JavaScript")]
    ParameterProperty,
    #[error("decorators are not supported")]
    Decorator,
    #[error("a program cannot import modules")]
    Import,
    #[error("a program cannot require modules")]
    Require,
    #[error("a program cannot export from other modules")]
    ExportFrom,
    #[error("a program has no exports")]
    Export,
    #[error("the program is a function with a parameter that gets no value")]
    Parameter,
}

impl Unsupported {
    pub(crate) fn remedy(self) -> &'static str {
        match self {
            Self::Enum => "write an object: const Color = { Red: 0, Green: 1 }",
            Self::Namespace => "write an object, or plain functions and constants",
            Self::ParameterProperty => {
                "declare the property and assign it in the constructor: this.name = name"
            }
            Self::Decorator => "call a function with the value instead",
            Self::Import | Self::Require | Self::ExportFrom => {
                "there are no modules here; tools.<server>.<tool>(…) calls a tool"
            }
            Self::Export => "return the value instead",
            Self::Parameter => {
                "write the statements without a function around them; tools and params are available"
            }
        }
    }
}
