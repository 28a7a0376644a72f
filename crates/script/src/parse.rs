//! Parses the text of a program into a syntax tree.

use oxc_allocator::Allocator;
use oxc_ast::ast::Program;
use oxc_parser::{Kind, ParseOptions, Parser, ParserReturn, Token, config::TokensParserConfig};
use oxc_span::{LabeledSpan, SourceType, Span};

use crate::{SyntaxMistake, nesting, position::line_and_column, unsupported::Unsupported};

/// A program without syntax errors.
pub(crate) struct Parsed<'a> {
    pub(crate) source: &'a str,
    pub(crate) program: Program<'a>,
    tokens: Vec<Token>,
}

/// Parses a program as TypeScript, or as JavaScript if it is only invalid as TypeScript.
pub(crate) fn parse<'a>(
    allocator: &'a Allocator,
    source: &'a str,
) -> Result<Parsed<'a>, SyntaxMistake> {
    nesting::check(source)?;
    let mistake = match parse_as(SourceType::ts(), allocator, source) {
        Ok(parsed) => return Ok(parsed),
        Err(mistake) => mistake,
    };
    parse_as(SourceType::mjs(), allocator, source).map_err(|_| mistake)
}

/// Parses twice: the parser that keeps its tokens must not see a mistake, because some make it
/// panic in builds with assertions.
fn parse_as<'a>(
    kind: SourceType,
    allocator: &'a Allocator,
    source: &'a str,
) -> Result<Parsed<'a>, SyntaxMistake> {
    let options = ParseOptions {
        allow_return_outside_function: true,
        ..ParseOptions::default()
    };
    let parser = Parser::new(allocator, source, kind).with_options(options);
    if let Some(mistake) = first_mistake(&parser.parse(), source) {
        return Err(mistake);
    }
    let parser = Parser::new(allocator, source, kind).with_options(options);
    let parsed = parser.with_config(TokensParserConfig).parse();
    Ok(Parsed::new(source, parsed))
}

impl<'a> Parsed<'a> {
    fn new(source: &'a str, parsed: ParserReturn<'a>) -> Self {
        Self {
            source,
            program: parsed.program,
            tokens: parsed.tokens.iter().copied().collect(),
        }
    }

    /// The tokens that begin at an offset or after it.
    pub(crate) fn tokens_from(&self, offset: u32) -> &[Token] {
        let first = self.tokens.partition_point(|token| token.start() < offset);
        &self.tokens[first..]
    }

    /// The tokens that begin within a piece of the program.
    pub(crate) fn tokens_within(&self, start: u32, end: u32) -> &[Token] {
        let tokens = self.tokens_from(start);
        &tokens[..tokens.partition_point(|token| token.start() < end)]
    }

    /// The first token of a kind at an offset or after it.
    pub(crate) fn first_from(&self, offset: u32, kind: Kind) -> Option<Token> {
        let mut tokens = self.tokens_from(offset).iter();
        tokens.find(|token| token.kind() == kind).copied()
    }

    /// The last token that ends at an offset or before it.
    pub(crate) fn last_before(&self, offset: u32) -> Option<Token> {
        let behind = self.tokens.partition_point(|token| token.end() <= offset);
        self.tokens[..behind].last().copied()
    }

    pub(crate) fn text(&self, span: Span) -> &'a str {
        &self.source[span.start as usize..span.end as usize]
    }

    pub(crate) fn unsupported_mistake(&self, what: Unsupported, at: Span) -> SyntaxMistake {
        let (line, column) = line_and_column(self.source, at.start as usize);
        SyntaxMistake {
            message: what.to_string(),
            line,
            column,
            hint: Some(what.remedy().to_owned()),
        }
    }
}

fn first_mistake(parsed: &ParserReturn<'_>, source: &str) -> Option<SyntaxMistake> {
    let diagnostic = parsed.diagnostics.errors().next()?;
    let offset = diagnostic.labels.first().map_or(0, LabeledSpan::offset);
    let (line, column) = line_and_column(source, offset as usize);
    Some(SyntaxMistake {
        message: diagnostic.message.to_string(),
        line,
        column,
        hint: diagnostic.help.as_ref().map(ToString::to_string),
    })
}
