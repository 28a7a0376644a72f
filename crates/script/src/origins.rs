//! The tool that a variable of a program came from, for advice about a mistake in its use.

use std::collections::HashMap;

use oxc_allocator::Allocator;
use oxc_ast::ast::{
    BindingIdentifier, BindingPattern, CallExpression, Expression, IdentifierReference,
    VariableDeclarator,
};
use oxc_ast_visit::{Visit, walk};

use crate::shape::tool_call;
use crate::{ToolPath, parse};

/// The tool whose answer is in a variable, in whole or in part.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VariableOrigin {
    pub tool: ToolPath,
    /// True if the variable is the whole answer.
    pub whole: bool,
}

/// Returns the variables of a program that come from one tool each.
pub fn origins(source: &str) -> HashMap<String, VariableOrigin> {
    let allocator = Allocator::default();
    let Ok(parsed) = parse::parse(&allocator, source) else {
        return HashMap::new();
    };
    let mut search = OriginSearch::default();
    search.visit_program(&parsed.program);
    search.found
}

#[derive(Default)]
struct OriginSearch {
    found: HashMap<String, VariableOrigin>,
}

impl<'a> Visit<'a> for OriginSearch {
    fn visit_variable_declarator(&mut self, it: &VariableDeclarator<'a>) {
        walk::walk_variable_declarator(self, it);
        let Some(init) = &it.init else { return };
        let mut parts = Parts::default();
        parts.visit_expression(init);
        match &it.id {
            BindingPattern::ArrayPattern(pattern)
                if pattern.elements.len() == parts.tools.len() =>
            {
                let elements = pattern.elements.iter().zip(parts.tools);
                for (element, tool) in elements {
                    if let Some(BindingPattern::BindingIdentifier(id)) = element {
                        self.note(&id.name, tool, true);
                    }
                }
            }
            pattern => self.note_all(pattern, init, parts),
        }
    }
}

impl OriginSearch {
    fn note_all(&mut self, pattern: &BindingPattern<'_>, init: &Expression<'_>, parts: Parts) {
        let mut names = Names::default();
        names.visit_binding_pattern(pattern);
        let plain = matches!(pattern, BindingPattern::BindingIdentifier(_));
        let origin = match parts.tools.as_slice() {
            [tool] => Some((tool.clone(), plain && is_awaited_call(init))),
            // `const first = answer.items[0]` has the origin of `answer`.
            [] => parts
                .first_name
                .and_then(|name| self.found.get(&name))
                .map(|it| (it.tool.clone(), false)),
            _ => None,
        };
        let Some((tool, whole)) = origin else { return };
        for name in names.0 {
            self.note(&name, tool.clone(), whole);
        }
    }

    fn note(&mut self, name: &str, tool: ToolPath, whole: bool) {
        self.found
            .insert(name.to_owned(), VariableOrigin { tool, whole });
    }
}

fn is_awaited_call(init: &Expression<'_>) -> bool {
    let called = match init.get_inner_expression() {
        Expression::AwaitExpression(it) => it.argument.get_inner_expression(),
        other => other,
    };
    matches!(called, Expression::CallExpression(it) if tool_call(it).is_some())
}

/// The tools that an expression calls, and the variable that it begins with.
#[derive(Default)]
struct Parts {
    tools: Vec<ToolPath>,
    first_name: Option<String>,
}

impl<'a> Visit<'a> for Parts {
    fn visit_call_expression(&mut self, it: &CallExpression<'a>) {
        self.tools.extend(tool_call(it).map(|(tool, _)| tool));
        walk::walk_call_expression(self, it);
    }

    fn visit_identifier_reference(&mut self, it: &IdentifierReference<'a>) {
        self.first_name.get_or_insert_with(|| it.name.to_string());
    }
}

#[derive(Default)]
struct Names(Vec<String>);

impl<'a> Visit<'a> for Names {
    fn visit_binding_identifier(&mut self, it: &BindingIdentifier<'a>) {
        self.0.push(it.name.to_string());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_variable_is_followed_to_the_call_that_it_came_from() {
        let source = "const log = await tools.git.log({});\n\
                      const [notes, graph] = await Promise.all([tools.fs.read({}), call('memory__read')]);\n\
                      const { items } = await tools.shop.list();\n\
                      const first = log.entries[0];\n\
                      const sum = [await tools.a.b(), await tools.c.d()].length;\n\
                      const own = 1;";
        let found = origins(source);
        let describe = |name: &str| {
            let origin = found.get(name)?;
            let tool = match &origin.tool {
                ToolPath::Exposed(name) => name.clone(),
                ToolPath::Member { server, tool } => format!("{server}.{tool}"),
            };
            Some((tool, origin.whole))
        };
        for (name, expected) in [
            ("log", Some(("git.log", true))),
            ("notes", Some(("fs.read", true))),
            ("graph", Some(("memory__read", true))),
            ("items", Some(("shop.list", false))),
            ("first", Some(("git.log", false))),
            ("sum", None),
            ("own", None),
        ] {
            let expected = expected.map(|(tool, whole)| (tool.to_owned(), whole));
            assert_eq!(describe(name), expected, "{name}");
        }
    }
}
