//! Finds the value of a program that has no `return` of its own.
//!
//! Models write programs in several forms: statements that end in a value, a function around
//! everything, or a `main` that they call or forget to call. All mean the same.

mod entry_point;

use oxc_ast::{
    AstKind,
    ast::{
        ExportDefaultDeclaration, ExportDefaultDeclarationKind, Expression, FormalParameters,
        Program, Statement,
    },
};
use oxc_ast_visit::Visit;
use oxc_span::{GetSpan as _, Span};

use crate::{
    SyntaxMistake, edits::Edits, parse::Parsed, types::is_only_type_statement,
    unsupported::Unsupported,
};

/// Notes the edits that make a program return its value.
pub(crate) fn return_value(parsed: &Parsed<'_>, edits: &mut Edits) -> Result<(), SyntaxMistake> {
    let returns = returns(&parsed.program);
    check_exports(parsed, returns)?;
    if returns {
        return Ok(());
    }
    match last_value(&parsed.program) {
        Some(LastValue::Plain(span)) => wrap(edits, span, ")"),
        Some(LastValue::Function(span, parameters)) => {
            let arguments = entry_point::arguments(parsed, parameters)?;
            wrap(edits, span, &format!(")({arguments})"));
        }
        None => call_entry_point(parsed, edits)?,
    }
    Ok(())
}

/// Rejects a default export that is neither the result nor a plain declaration.
fn check_exports(parsed: &Parsed<'_>, returns: bool) -> Result<(), SyntaxMistake> {
    let statements = run_statements(&parsed.program);
    let others = statements.len() - usize::from(!returns && !statements.is_empty());
    match statements[..others].iter().find(|it| is_stray_export(it)) {
        Some(stray) => Err(parsed.unsupported_mistake(Unsupported::Export, stray.span())),
        None => Ok(()),
    }
}

fn is_stray_export(it: &Statement<'_>) -> bool {
    matches!(it, Statement::ExportDefaultDeclaration(it) if !is_named_function(it))
}

fn is_named_function(it: &ExportDefaultDeclaration<'_>) -> bool {
    matches!(&it.declaration, ExportDefaultDeclarationKind::FunctionDeclaration(it) if it.id.is_some())
}

/// The value at the end of a program.
enum LastValue<'p, 'a> {
    Plain(Span),
    /// A function cannot be a result, so its author means its return value.
    Function(Span, &'p FormalParameters<'a>),
}

fn last_value<'p, 'a>(program: &'p Program<'a>) -> Option<LastValue<'p, 'a>> {
    match run_statements(program).last() {
        Some(Statement::ExpressionStatement(it)) => Some(value(&it.expression)),
        Some(Statement::ExportDefaultDeclaration(it)) => default_value(&it.declaration),
        Some(_) => None,
        // A program that is nothing but a string parses as a directive, like `"use strict"`.
        None => Some(LastValue::Plain(program.directives.last()?.expression.span)),
    }
}

fn value<'p, 'a>(expression: &'p Expression<'a>) -> LastValue<'p, 'a> {
    let span = expression.span();
    match expression.get_inner_expression() {
        Expression::ArrowFunctionExpression(it) => LastValue::Function(span, &it.params),
        Expression::FunctionExpression(it) if !it.generator => {
            LastValue::Function(span, &it.params)
        }
        _ => LastValue::Plain(span),
    }
}

fn default_value<'p, 'a>(
    declaration: &'p ExportDefaultDeclarationKind<'a>,
) -> Option<LastValue<'p, 'a>> {
    match declaration {
        ExportDefaultDeclarationKind::FunctionDeclaration(it) => {
            Some(LastValue::Function(it.span, &it.params))
        }
        other => other.as_expression().map(value),
    }
}

/// The statements of a program that do something when it runs.
fn run_statements<'p, 'a>(program: &'p Program<'a>) -> Vec<&'p Statement<'a>> {
    let statements = program.body.iter();
    statements
        .filter(|it| !is_only_type_statement(it))
        .collect()
}

/// Wraps a value in `return (…)`, keeping all lines.
fn wrap(edits: &mut Edits, value: Span, closing: &str) {
    edits.insert(value.start, "return (");
    edits.insert(value.end, closing);
}

fn call_entry_point(parsed: &Parsed<'_>, edits: &mut Edits) -> Result<(), SyntaxMistake> {
    let statements = run_statements(&parsed.program);
    let (Some(start), Some(last)) = (entry_point::find(parsed, &statements), statements.last())
    else {
        return Ok(());
    };
    let arguments = entry_point::arguments(parsed, start.parameters)?;
    edits.insert(
        last.span().end,
        &format!("; return {}({arguments})", start.name),
    );
    Ok(())
}

/// True if the program itself returns, and not only a function in it.
fn returns(program: &Program<'_>) -> bool {
    let mut search = ReturnSearch::default();
    search.visit_program(program);
    search.is_found
}

#[derive(Default)]
struct ReturnSearch {
    functions: usize,
    is_found: bool,
}

impl<'a> Visit<'a> for ReturnSearch {
    fn enter_node(&mut self, kind: AstKind<'a>) {
        match kind {
            AstKind::Function(_) | AstKind::ArrowFunctionExpression(_) => self.functions += 1,
            AstKind::ReturnStatement(_) if self.functions == 0 => self.is_found = true,
            _ => {}
        }
    }

    fn leave_node(&mut self, kind: AstKind<'a>) {
        if matches!(
            kind,
            AstKind::Function(_) | AstKind::ArrowFunctionExpression(_)
        ) {
            self.functions -= 1;
        }
    }
}
