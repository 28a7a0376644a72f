//! The types in the head of a function.

use oxc_ast::ast::{ArrowFunctionExpression, FormalParameter, TSThisParameter};
use oxc_parser::Kind;
use oxc_span::{GetSpan as _, Span};

use super::Blanking;
use crate::unsupported::Unsupported;

impl<'a> Blanking<'_, 'a> {
    pub(super) fn check_parameter(&mut self, it: &FormalParameter<'a>) {
        if it.accessibility.is_some() || it.readonly || it.r#override {
            self.note_mistake(Unsupported::ParameterProperty, it.span);
        }
        if it.optional {
            self.blank_mark(it.pattern.span().end, Kind::Question);
        }
    }

    /// Blanks `this: T` and the comma after it.
    pub(super) fn blank_this_parameter(&mut self, it: &TSThisParameter<'a>) {
        self.blank(it.span);
        if let Some(next) = self.parsed.tokens_from(it.span.end).first()
            && next.kind() == Kind::Comma
        {
            self.blank(next.span());
        }
    }

    /// JavaScript requires `=>` on the line of the parenthesis before it, and `(` on the line of
    /// `async` or `return`. If types spanned several lines in between, the parentheses move.
    pub(super) fn keep_arrow_on_its_line(&mut self, it: &ArrowFunctionExpression<'a>) {
        let parameters = it.params.span;
        if let Some(types) = &it.return_type
            && self.has_newline(parameters.end, types.span.end)
        {
            self.move_bracket(parameters.end - 1, types.span.end - 1, ')');
        }
        if let Some(types) = &it.type_parameters
            && self.has_newline(types.span.start, parameters.start)
        {
            self.move_bracket(parameters.start, types.span.start, '(');
        }
    }

    fn has_newline(&self, start: u32, end: u32) -> bool {
        self.parsed.text(Span::new(start, end)).contains('\n')
    }

    fn move_bracket(&mut self, from: u32, to: u32, bracket: char) {
        self.edits.blank(from, from + 1);
        self.edits.put(to, bracket);
    }
}
