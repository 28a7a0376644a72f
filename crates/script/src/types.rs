//! Replaces the types of a program by spaces, so that the rest keeps its position.

mod class;
mod function;
mod statement;

use oxc_ast::ast::{
    Argument, ArrowFunctionExpression, CallExpression, Class, ClassElement, Declaration, Decorator,
    Expression, FormalParameter, ImportExpression, ImportMeta, ModuleDeclaration, TSAsExpression,
    TSInstantiationExpression, TSNonNullExpression, TSSatisfiesExpression, TSThisParameter,
    TSTypeAnnotation, TSTypeAssertion, TSTypeParameterDeclaration, TSTypeParameterInstantiation,
    VariableDeclarator,
};
use oxc_ast_visit::{Visit, walk};
use oxc_parser::Kind;
use oxc_span::{GetSpan as _, Span};
pub(crate) use statement::is_only_type_statement;

use crate::{SyntaxMistake, edits::Edits, parse::Parsed, unsupported::Unsupported};

/// Returns the edits that turn a program into JavaScript.
pub(crate) fn blank(parsed: &Parsed<'_>) -> Result<Edits, SyntaxMistake> {
    let mut blanking = Blanking {
        parsed,
        edits: Edits::default(),
        mistake: None,
    };
    if let Some(hashbang) = &parsed.program.hashbang {
        blanking.blank(hashbang.span);
    }
    blanking.visit_program(&parsed.program);
    blanking.mistake.map_or(Ok(blanking.edits), Err)
}

struct Blanking<'p, 'a> {
    parsed: &'p Parsed<'a>,
    edits: Edits,
    /// The first part of the program without a counterpart in JavaScript.
    mistake: Option<SyntaxMistake>,
}

impl<'a> Visit<'a> for Blanking<'_, 'a> {
    fn visit_ts_type_annotation(&mut self, it: &TSTypeAnnotation<'a>) {
        self.blank(it.span);
    }

    fn visit_ts_type_parameter_declaration(&mut self, it: &TSTypeParameterDeclaration<'a>) {
        self.blank(it.span);
    }

    fn visit_ts_type_parameter_instantiation(&mut self, it: &TSTypeParameterInstantiation<'a>) {
        self.blank(it.span);
    }

    fn visit_ts_as_expression(&mut self, it: &TSAsExpression<'a>) {
        self.visit_expression(&it.expression);
        self.blank_type_after(&it.expression, it.span);
    }

    fn visit_ts_satisfies_expression(&mut self, it: &TSSatisfiesExpression<'a>) {
        self.visit_expression(&it.expression);
        self.blank_type_after(&it.expression, it.span);
    }

    fn visit_ts_instantiation_expression(&mut self, it: &TSInstantiationExpression<'a>) {
        self.visit_expression(&it.expression);
        self.blank_type_after(&it.expression, it.span);
    }

    fn visit_ts_non_null_expression(&mut self, it: &TSNonNullExpression<'a>) {
        self.visit_expression(&it.expression);
        self.edits.blank(it.span.end - 1, it.span.end);
    }

    /// `<T>{}` becomes `(  {})`: without parentheses, an object could become a block.
    fn visit_ts_type_assertion(&mut self, it: &TSTypeAssertion<'a>) {
        let value = it.expression.span();
        self.edits.blank(it.span.start, value.start);
        self.edits.put(it.span.start, '(');
        self.visit_expression(&it.expression);
        self.edits.insert(value.end, ")");
    }

    fn visit_ts_this_parameter(&mut self, it: &TSThisParameter<'a>) {
        self.blank_this_parameter(it);
    }

    fn visit_formal_parameter(&mut self, it: &FormalParameter<'a>) {
        self.check_parameter(it);
        walk::walk_formal_parameter(self, it);
    }

    fn visit_arrow_function_expression(&mut self, it: &ArrowFunctionExpression<'a>) {
        walk::walk_arrow_function_expression(self, it);
        self.keep_arrow_on_its_line(it);
    }

    fn visit_variable_declarator(&mut self, it: &VariableDeclarator<'a>) {
        if it.definite {
            self.blank_mark(it.id.span().end, Kind::Bang);
        }
        walk::walk_variable_declarator(self, it);
    }

    fn visit_class(&mut self, it: &Class<'a>) {
        self.blank_class_head(it);
        walk::walk_class(self, it);
    }

    fn visit_class_element(&mut self, it: &ClassElement<'a>) {
        if self.blank_class_element(it) {
            walk::walk_class_element(self, it);
        }
    }

    fn visit_declaration(&mut self, it: &Declaration<'a>) {
        if self.blank_declaration(it) {
            walk::walk_declaration(self, it);
        }
    }

    fn visit_module_declaration(&mut self, it: &ModuleDeclaration<'a>) {
        if self.blank_module_declaration(it) {
            walk::walk_module_declaration(self, it);
        }
    }

    fn visit_decorator(&mut self, it: &Decorator<'a>) {
        self.note_mistake(Unsupported::Decorator, it.span);
    }

    fn visit_import_expression(&mut self, it: &ImportExpression<'a>) {
        self.note_mistake(Unsupported::Import, it.span);
    }

    fn visit_import_meta(&mut self, it: &ImportMeta) {
        self.note_mistake(Unsupported::Import, it.span);
    }

    fn visit_call_expression(&mut self, it: &CallExpression<'a>) {
        if requires_module(it) {
            self.note_mistake(Unsupported::Require, it.span);
        }
        walk::walk_call_expression(self, it);
    }
}

impl<'a> Blanking<'_, 'a> {
    fn blank(&mut self, span: Span) {
        self.edits.blank(span.start, span.end);
    }

    /// Notes a mistake, if it is the first.
    fn note_mistake(&mut self, what: Unsupported, at: Span) {
        let mistake = self.parsed.unsupported_mistake(what, at);
        self.mistake.get_or_insert(mistake);
    }

    /// Blanks a statement or an element of a class. The semicolon separates its neighbours: without
    /// it, `a`, a type and `(b)` would become the call `a (b)`.
    fn blank_whole(&mut self, span: Span) {
        self.blank(span);
        self.edits.put(span.start, ';');
    }

    /// Blanks the type after an expression. A statement that ends in a type ends with its line;
    /// without the type, it might continue on the next.
    fn blank_type_after(&mut self, value: &Expression<'a>, whole: Span) {
        let start = value.span().end;
        self.edits.blank(start, whole.end);
        if self.next_line_would_join(whole.end) {
            self.edits.put(start, ';');
        }
    }

    fn next_line_would_join(&self, end: u32) -> bool {
        let next = self.parsed.tokens_from(end).first();
        next.is_some_and(|token| token.is_on_new_line() && continues_expression(token.kind()))
    }

    /// Blanks the `?` or `!` after a name.
    fn blank_mark(&mut self, name_end: u32, mark: Kind) {
        if let Some(token) = self.parsed.first_from(name_end, mark) {
            self.blank(token.span());
        }
    }
}

/// True for `require("module")`.
fn requires_module(it: &CallExpression<'_>) -> bool {
    matches!(&it.callee, Expression::Identifier(callee) if callee.name == "require")
        && matches!(it.arguments.as_slice(), [Argument::StringLiteral(_)])
}

/// True for tokens that, at the start of a line, continue the previous expression.
fn continues_expression(kind: Kind) -> bool {
    matches!(
        kind,
        Kind::LParen | Kind::LBrack | Kind::NoSubstitutionTemplate | Kind::TemplateHead
    )
}
