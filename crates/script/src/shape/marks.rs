//! The offsets in a program at which a line, a block or a statement begins or ends.

use std::collections::HashSet;

use oxc_allocator::ArenaVec;
use oxc_ast::ast::{
    BlockStatement, ClassBody, ClassElement, Directive, FunctionBody, Statement, StaticBlock,
    SwitchCase, SwitchStatement,
};
use oxc_ast_visit::{Visit, walk};
use oxc_parser::{Kind, Token};
use oxc_span::{GetSpan as _, Span};

use crate::parse::Parsed;

/// Offsets of tokens in a program.
pub(super) struct LayoutMarks<'p, 'a> {
    parsed: &'p Parsed<'a>,
    /// The first tokens of everything on a line of its own.
    pub(super) lines: HashSet<u32>,
    pub(super) opening: HashSet<u32>,
    pub(super) closing: HashSet<u32>,
    /// The ends of statements without a semicolon.
    pub(super) unended: HashSet<u32>,
    /// Semicolons that end nothing.
    pub(super) idle: HashSet<u32>,
}

pub(super) fn find<'p, 'a>(parsed: &'p Parsed<'a>) -> LayoutMarks<'p, 'a> {
    let mut marks = LayoutMarks {
        parsed,
        lines: HashSet::new(),
        opening: HashSet::new(),
        closing: HashSet::new(),
        unended: HashSet::new(),
        idle: HashSet::new(),
    };
    marks.visit_program(&parsed.program);
    marks
}

impl<'a> Visit<'a> for LayoutMarks<'_, 'a> {
    fn visit_statements(&mut self, it: &ArenaVec<'a, Statement<'a>>) {
        for statement in it {
            if matches!(statement, Statement::EmptyStatement(_)) {
                self.idle.insert(statement.span().start);
            } else {
                self.lines.insert(statement.span().start);
            }
        }
        walk::walk_statements(self, it);
    }

    fn visit_statement(&mut self, it: &Statement<'a>) {
        if needs_semicolon(it) {
            self.end(it.span());
        }
        walk::walk_statement(self, it);
    }

    fn visit_directive(&mut self, it: &Directive<'a>) {
        self.lines.insert(it.span.start);
        self.end(it.span);
    }

    fn visit_block_statement(&mut self, it: &BlockStatement<'a>) {
        self.braces(it.span);
        walk::walk_block_statement(self, it);
    }

    fn visit_function_body(&mut self, it: &FunctionBody<'a>) {
        self.braces(it.span);
        walk::walk_function_body(self, it);
    }

    fn visit_static_block(&mut self, it: &StaticBlock<'a>) {
        self.braces_from(it.span);
        walk::walk_static_block(self, it);
    }

    fn visit_switch_statement(&mut self, it: &SwitchStatement<'a>) {
        self.braces_from(Span::new(it.discriminant.span().end, it.span.end));
        walk::walk_switch_statement(self, it);
    }

    fn visit_switch_case(&mut self, it: &SwitchCase<'a>) {
        self.lines.insert(it.span.start);
        walk::walk_switch_case(self, it);
    }

    fn visit_class_body(&mut self, it: &ClassBody<'a>) {
        self.braces(it.span);
        self.note_idle(it);
        walk::walk_class_body(self, it);
    }

    fn visit_class_element(&mut self, it: &ClassElement<'a>) {
        self.lines.insert(it.span().start);
        if matches!(
            it,
            ClassElement::PropertyDefinition(_) | ClassElement::AccessorProperty(_)
        ) {
            self.end(it.span());
        }
        walk::walk_class_element(self, it);
    }
}

impl LayoutMarks<'_, '_> {
    fn braces(&mut self, span: Span) {
        self.opening.insert(span.start);
        self.closing.insert(span.end - 1);
    }

    /// Notes the braces of an element that begins with other tokens.
    fn braces_from(&mut self, span: Span) {
        if let Some(brace) = self.parsed.first_from(span.start, Kind::LCurly) {
            self.braces(Span::new(brace.start(), span.end));
        }
    }

    fn end(&mut self, span: Span) {
        if !self.parsed.text(span).ends_with(';') {
            self.unended.insert(span.end);
        }
    }

    /// Notes the semicolons between the elements of a class.
    fn note_idle(&mut self, it: &ClassBody<'_>) {
        let mut start = it.span.start;
        for element in &it.body {
            self.note_idle_within(start, element.span().start);
            start = element.span().end;
        }
        self.note_idle_within(start, it.span.end);
    }

    fn note_idle_within(&mut self, start: u32, end: u32) {
        let tokens = self.parsed.tokens_within(start, end).iter();
        let idle = tokens.filter(|token| token.kind() == Kind::Semicolon);
        self.idle.extend(idle.map(Token::start));
    }
}

fn needs_semicolon(it: &Statement<'_>) -> bool {
    matches!(
        it,
        Statement::ExpressionStatement(_)
            | Statement::VariableDeclaration(_)
            | Statement::ReturnStatement(_)
            | Statement::ThrowStatement(_)
            | Statement::BreakStatement(_)
            | Statement::ContinueStatement(_)
            | Statement::DebuggerStatement(_)
            | Statement::DoWhileStatement(_)
    )
}
