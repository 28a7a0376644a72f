//! Finds the tools that a program calls, and the literals that it passes to them.

use std::collections::{HashMap, HashSet};

use oxc_ast::ast::{
    Argument, BindingIdentifier, BindingPattern, CallExpression, Expression, IdentifierReference,
    MemberExpression, Program, Statement, VariableDeclaration, VariableDeclarationKind,
    VariableDeclarator,
};
use oxc_ast_visit::{Visit, walk};
use oxc_span::{GetSpan as _, Span};
use serde_json::Value;

use super::{
    arguments::{FoundLiteral, GivenConstant, GivenValues},
    literal,
};
use crate::ToolPath;

/// The name under which the host passes the tools to a program.
const TOOLS: &str = "tools";
/// The function that calls a tool by its exposed name.
const CALL: &str = "call";
/// The parameters with which a program is started.
const PARAMS: &str = "params";

pub(super) struct ToolCalls {
    /// Each tool once.
    pub(super) tools: Vec<ToolPath>,
    /// In program order.
    pub(super) literals: Vec<FoundLiteral>,
    /// The names that the program already reads from `params`.
    pub(super) read_names: HashSet<String>,
}

pub(super) fn find(program: &Program<'_>) -> ToolCalls {
    let mut search = CallSearch::default();
    for statement in &program.body {
        search.note_constants(statement);
    }
    search.visit_program(program);
    ToolCalls {
        literals: search.take_literals(),
        tools: search.tools,
        read_names: search.read_names,
    }
}

#[derive(Default)]
struct CallSearch {
    tools: Vec<ToolPath>,
    given: GivenValues,
    /// The literals held by top-level constants.
    constants: HashMap<String, (Span, Value)>,
    /// The number of uses of each name.
    uses: HashMap<String, usize>,
    /// The number of declarations of each name, at any level.
    declarations: HashMap<String, usize>,
    read_names: HashSet<String>,
    /// The number of uses of `params` that read a property with a name.
    reads: usize,
}

impl<'a> Visit<'a> for CallSearch {
    fn visit_call_expression(&mut self, it: &CallExpression<'a>) {
        if let Some((tool, arguments)) = tool_call(it) {
            self.given.add_all(arguments);
            if !self.tools.contains(&tool) {
                self.tools.push(tool);
            }
        }
        walk::walk_call_expression(self, it);
    }

    fn visit_identifier_reference(&mut self, it: &IdentifierReference<'a>) {
        *self.uses.entry(it.name.to_string()).or_default() += 1;
    }

    fn visit_binding_identifier(&mut self, it: &BindingIdentifier<'a>) {
        *self.declarations.entry(it.name.to_string()).or_default() += 1;
    }

    fn visit_member_expression(&mut self, it: &MemberExpression<'a>) {
        if let Some(name) = member_name(it).filter(|_| is_name(it.object(), PARAMS)) {
            self.reads += 1;
            self.read_names.insert(name);
        }
        walk::walk_member_expression(self, it);
    }

    /// `const { owner, repo } = params` reads two names.
    fn visit_variable_declarator(&mut self, it: &VariableDeclarator<'a>) {
        if it.init.as_ref().is_some_and(|it| is_name(it, PARAMS))
            && let Some(names) = pattern_names(&it.id)
        {
            self.reads += 1;
            self.read_names.extend(names);
        }
        walk::walk_variable_declarator(self, it);
    }
}

impl CallSearch {
    fn note_constants(&mut self, statement: &Statement<'_>) {
        if let Statement::VariableDeclaration(it) = statement
            && it.kind == VariableDeclarationKind::Const
        {
            self.constants.extend(constants(it));
        }
    }

    fn take_literals(&mut self) -> Vec<FoundLiteral> {
        if !self.has_room_in_params() {
            return Vec::new();
        }
        let mut literals = std::mem::take(&mut self.given.literals);
        literals.extend(self.take_constants());
        literals.sort_by_key(|literal| literal.span.start);
        literals
    }

    /// True if another name in `params` makes no difference to the program.
    fn has_room_in_params(&self) -> bool {
        let uses = self.uses.get(PARAMS).copied().unwrap_or_default();
        uses == self.reads && !self.declarations.contains_key(PARAMS)
    }

    /// Takes the constants that are only used in the arguments of tool calls.
    fn take_constants(&mut self) -> Vec<FoundLiteral> {
        let constants = std::mem::take(&mut self.constants).into_iter();
        let literals =
            constants.filter_map(|(name, literal)| self.constant_literal(&name, literal));
        literals.collect()
    }

    fn constant_literal(&self, name: &str, (span, value): (Span, Value)) -> Option<FoundLiteral> {
        let given: Vec<&GivenConstant> = self.given.constants_named(name).collect();
        let is_used_elsewhere = self.uses.get(name) != Some(&given.len());
        let is_ambiguous = self.declarations.get(name) != Some(&1);
        let first = given
            .first()
            .filter(|_| !is_used_elsewhere && !is_ambiguous)?;
        Some(FoundLiteral {
            span,
            key: first.key.clone(),
            value,
        })
    }
}

/// Returns the tool that a call names, and the tool's arguments.
pub(crate) fn tool_call<'c, 'a>(
    it: &'c CallExpression<'a>,
) -> Option<(ToolPath, &'c [Argument<'a>])> {
    if is_name(&it.callee, CALL) {
        let (name, arguments) = it.arguments.split_first()?;
        let name = literal::text(name.as_expression()?)?;
        return Some((ToolPath::Exposed(name), arguments));
    }
    let tool = it.callee.as_member_expression()?;
    let server = tool.object().as_member_expression()?;
    is_name(server.object(), TOOLS).then_some(())?;
    let path = ToolPath::Member {
        server: member_name(server)?,
        tool: member_name(tool)?,
    };
    Some((path, &it.arguments))
}

fn constants(it: &VariableDeclaration<'_>) -> Vec<(String, (Span, Value))> {
    it.declarations.iter().filter_map(constant).collect()
}

fn constant(it: &VariableDeclarator<'_>) -> Option<(String, (Span, Value))> {
    let BindingPattern::BindingIdentifier(id) = &it.id else {
        return None;
    };
    let value = it.init.as_ref()?.get_inner_expression();
    Some((id.name.to_string(), (value.span(), literal::scalar(value)?)))
}

fn is_name(expression: &Expression<'_>, name: &str) -> bool {
    matches!(expression, Expression::Identifier(it) if it.name.as_str() == name)
}

/// Returns the name in `object.name` or `object["name"]`.
fn member_name(it: &MemberExpression<'_>) -> Option<String> {
    match it {
        MemberExpression::StaticMemberExpression(it) => Some(it.property.name.to_string()),
        MemberExpression::ComputedMemberExpression(it) => literal::text(&it.expression),
        MemberExpression::PrivateFieldExpression(_) => None,
    }
}

/// Returns the names that a pattern reads, unless it also reads all others.
fn pattern_names(pattern: &BindingPattern<'_>) -> Option<Vec<String>> {
    let BindingPattern::ObjectPattern(it) = pattern else {
        return None;
    };
    let names = it.properties.iter();
    let names = names.map(|it| it.key.static_name().map(String::from));
    names.collect::<Option<_>>().filter(|_| it.rest.is_none())
}
