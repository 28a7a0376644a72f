//! The function that a program declares as its entry point and does not call.

use oxc_ast::ast::{
    BindingPattern, BindingProperty, Declaration, ExportDefaultDeclarationKind, Expression,
    FormalParameter, FormalParameters, Function, IdentifierReference, Program, Statement,
    VariableDeclarator,
};
use oxc_ast_visit::Visit;

use crate::{SyntaxMistake, parse::Parsed, unsupported::Unsupported};

/// The name of the entry point in most languages.
const MAIN: &str = "main";

/// The values that every program can use, and that an entry point may therefore take by name.
const GIVEN: [&str; 5] = ["tools", "params", "call", "search", "describe"];

pub(super) struct EntryPoint<'p, 'a> {
    pub(super) name: &'p str,
    pub(super) parameters: &'p FormalParameters<'a>,
}

/// Returns `main`, or the function that is the whole program, if the program does not use it.
pub(super) fn find<'p, 'a>(
    parsed: &'p Parsed<'a>,
    statements: &[&'p Statement<'a>],
) -> Option<EntryPoint<'p, 'a>> {
    let is_alone = statements.len() == 1;
    statements
        .iter()
        .filter_map(|statement| exported_function(statement))
        .find(|start| is_alone || start.name == MAIN)
        .filter(|start| !is_used(&parsed.program, start.name))
}

/// Returns the arguments with which an entry point is called.
pub(super) fn arguments(
    parsed: &Parsed<'_>,
    parameters: &FormalParameters<'_>,
) -> Result<String, SyntaxMistake> {
    let needed = parameters.items.iter().take_while(|it| is_needed(it));
    let arguments: Result<Vec<String>, SyntaxMistake> =
        needed.map(|it| argument(parsed, it)).collect();
    Ok(arguments?.join(", "))
}

fn argument(parsed: &Parsed<'_>, it: &FormalParameter<'_>) -> Result<String, SyntaxMistake> {
    given_pattern(&it.pattern)
        .ok_or_else(|| parsed.unsupported_mistake(Unsupported::Parameter, it.span))
}

fn exported_function<'p, 'a>(statement: &'p Statement<'a>) -> Option<EntryPoint<'p, 'a>> {
    match statement {
        Statement::ExportDeclaration(it) => declared_by(&it.declaration),
        Statement::ExportDefaultDeclaration(it) => match &it.declaration {
            ExportDefaultDeclarationKind::FunctionDeclaration(it) => function(it),
            _ => None,
        },
        statement => declared_by(statement.as_declaration()?),
    }
}

fn declared_by<'p, 'a>(declaration: &'p Declaration<'a>) -> Option<EntryPoint<'p, 'a>> {
    match declaration {
        Declaration::FunctionDeclaration(it) => function(it),
        Declaration::VariableDeclaration(it) => match it.declarations.as_slice() {
            [declarator] => variable(declarator),
            _ => None,
        },
        _ => None,
    }
}

fn function<'p, 'a>(it: &'p Function<'a>) -> Option<EntryPoint<'p, 'a>> {
    let name = it.id.as_ref()?.name.as_str();
    (!it.generator).then_some(EntryPoint {
        name,
        parameters: &it.params,
    })
}

fn variable<'p, 'a>(it: &'p VariableDeclarator<'a>) -> Option<EntryPoint<'p, 'a>> {
    let BindingPattern::BindingIdentifier(id) = &it.id else {
        return None;
    };
    let parameters = match it.init.as_ref()?.get_inner_expression() {
        Expression::ArrowFunctionExpression(it) => &it.params,
        Expression::FunctionExpression(it) if !it.generator => &it.params,
        _ => return None,
    };
    Some(EntryPoint {
        name: id.name.as_str(),
        parameters,
    })
}

fn is_needed(it: &FormalParameter<'_>) -> bool {
    it.initializer.is_none() && !it.optional
}

/// `tools` is passed for `tools`, and `{ tools, call }` for `{ tools, call }`.
fn given_pattern(pattern: &BindingPattern<'_>) -> Option<String> {
    match pattern {
        BindingPattern::BindingIdentifier(it) => given_name(it.name.as_str()),
        BindingPattern::ObjectPattern(it) if it.rest.is_none() => {
            let names: Option<Vec<String>> = it.properties.iter().map(given_property).collect();
            Some(format!("{{ {} }}", names?.join(", ")))
        }
        _ => None,
    }
}

fn given_property(it: &BindingProperty<'_>) -> Option<String> {
    given_name(&it.key.static_name()?)
}

fn given_name(name: &str) -> Option<String> {
    GIVEN.contains(&name).then(|| name.to_owned())
}

fn is_used(program: &Program<'_>, name: &str) -> bool {
    let mut search = UseSearch {
        name,
        is_found: false,
    };
    search.visit_program(program);
    search.is_found
}

struct UseSearch<'n> {
    name: &'n str,
    is_found: bool,
}

impl<'a> Visit<'a> for UseSearch<'_> {
    fn visit_identifier_reference(&mut self, it: &IdentifierReference<'a>) {
        self.is_found |= it.name.as_str() == self.name;
    }
}
