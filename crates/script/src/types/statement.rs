//! Statements that are only types, and module statements.

use oxc_ast::ast::{
    Declaration, ExportDefaultDeclaration, ExportDefaultDeclarationKind, ImportDeclaration,
    ImportOrExportKind, ModuleDeclaration, Statement, TSNamespaceDeclaration,
    TSNamespaceDeclarationBody,
};
use oxc_span::GetSpan as _;

use super::Blanking;
use crate::unsupported::Unsupported;

impl<'a> Blanking<'_, 'a> {
    /// Blanks a type-only declaration. Returns true if it is any other declaration.
    pub(super) fn blank_declaration(&mut self, it: &Declaration<'a>) -> bool {
        if is_only_type(it) {
            self.blank_whole(it.span());
            return false;
        }
        match it {
            Declaration::TSEnumDeclaration(it) => self.note_mistake(Unsupported::Enum, it.span),
            Declaration::TSNamespaceDeclaration(it) => {
                self.note_mistake(Unsupported::Namespace, it.span);
            }
            Declaration::TSImportEqualsDeclaration(it) => {
                self.note_mistake(Unsupported::Import, it.span);
            }
            _ => return true,
        }
        false
    }

    /// Blanks the parts of a statement that only concern modules, and returns true if some of it
    /// remains.
    pub(super) fn blank_module_declaration(&mut self, it: &ModuleDeclaration<'a>) -> bool {
        if is_only_type_of_module(it) {
            self.blank_whole(it.span());
            return false;
        }
        match it {
            ModuleDeclaration::ImportDeclaration(it) => {
                self.note_mistake(Unsupported::Import, it.span);
            }
            ModuleDeclaration::ExportAllDeclaration(_)
            | ModuleDeclaration::ExportFromDeclaration(_) => {
                self.note_mistake(Unsupported::ExportFrom, it.span());
            }
            ModuleDeclaration::TSExportAssignment(it) => {
                self.note_mistake(Unsupported::Export, it.span);
            }
            ModuleDeclaration::ExportDeclaration(it) => {
                self.edits.blank(it.span.start, it.declaration.span().start);
            }
            ModuleDeclaration::ExportDefaultDeclaration(it) => self.blank_default(it),
            ModuleDeclaration::ExportNamedDeclaration(_)
            | ModuleDeclaration::TSNamespaceExportDeclaration(_) => self.blank_whole(it.span()),
        }
        matches!(
            it,
            ModuleDeclaration::ExportDeclaration(_)
                | ModuleDeclaration::ExportDefaultDeclaration(_)
        )
    }

    fn blank_default(&mut self, it: &ExportDefaultDeclaration<'a>) {
        if let ExportDefaultDeclarationKind::ClassDeclaration(class) = &it.declaration {
            self.note_mistake(Unsupported::Export, class.span);
        }
        self.edits.blank(it.span.start, it.declaration.span().start);
    }
}

/// True for a statement that is empty without its types.
pub(crate) fn is_only_type_statement(it: &Statement<'_>) -> bool {
    match it {
        Statement::EmptyStatement(_) | Statement::ExportNamedDeclaration(_) => true,
        it => {
            it.as_declaration().is_some_and(is_only_type)
                || it
                    .as_module_declaration()
                    .is_some_and(is_only_type_of_module)
        }
    }
}

fn is_only_type(it: &Declaration<'_>) -> bool {
    match it {
        Declaration::TSTypeAliasDeclaration(_) | Declaration::TSInterfaceDeclaration(_) => true,
        Declaration::TSExternalModuleDeclaration(_) | Declaration::TSGlobalDeclaration(_) => true,
        Declaration::VariableDeclaration(it) => it.declare,
        Declaration::FunctionDeclaration(it) => it.declare || it.body.is_none(),
        Declaration::ClassDeclaration(it) => it.declare,
        Declaration::TSEnumDeclaration(it) => it.declare,
        Declaration::TSNamespaceDeclaration(it) => it.declare || holds_only_types(it),
        Declaration::TSImportEqualsDeclaration(it) => it.import_kind == ImportOrExportKind::Type,
    }
}

fn holds_only_types(it: &TSNamespaceDeclaration<'_>) -> bool {
    match &it.body {
        TSNamespaceDeclarationBody::TSNamespaceDeclaration(inner) => holds_only_types(inner),
        TSNamespaceDeclarationBody::TSModuleBlock(block) => {
            block.body.iter().all(is_only_type_statement)
        }
    }
}

fn is_only_type_of_module(it: &ModuleDeclaration<'_>) -> bool {
    match it {
        ModuleDeclaration::ImportDeclaration(it) => imports_only_types(it),
        ModuleDeclaration::ExportAllDeclaration(it) => it.export_kind == ImportOrExportKind::Type,
        ModuleDeclaration::ExportFromDeclaration(it) => it.export_kind == ImportOrExportKind::Type,
        ModuleDeclaration::ExportDeclaration(it) => is_only_type(&it.declaration),
        ModuleDeclaration::ExportDefaultDeclaration(it) => matches!(
            it.declaration,
            ExportDefaultDeclarationKind::TSInterfaceDeclaration(_)
        ),
        _ => false,
    }
}

fn imports_only_types(it: &ImportDeclaration<'_>) -> bool {
    it.import_kind == ImportOrExportKind::Type
}
