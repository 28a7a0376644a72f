//! Skills for models without access to resources: found with the tools, and read with
//! `discover_apis`.

use kitbag_domain::ServerName;
use kitbag_domain::text::{first_sentence, strip_to_one_line};
use kitbag_wire::{Raw, RawObject};

use crate::call::failure::Failure;
use crate::call::pipeline;
use crate::call::{Call, McpCall};
use crate::catalog::skills::Skill;
use crate::catalog::{Catalog, CatalogEntry};
use crate::turn::Turn;

/// The most skills that a search shows in addition to the tools.
const MAX_SKILLS: usize = 2;

/// Returns a line for each of the best-matching skills, and how to read them.
pub(super) fn find_skills(turn: &Turn, catalog: &Catalog, text: &str) -> Vec<String> {
    if catalog.skills.is_empty() {
        return Vec::new();
    }
    let is_visible = |at: usize| turn.can_see(&catalog.skills[at].capability);
    let found = catalog.skill_index().find(text, is_visible).into_iter();
    let mut lines: Vec<String> = found
        .take(MAX_SKILLS)
        .map(|at| skill_line(&catalog.skills[at]))
        .collect();
    if !lines.is_empty() {
        lines.push("Read a skill: discover_apis(tool: its URI).".to_owned());
    }
    lines
}

pub(super) fn skills_of_server(turn: &Turn, server: &ServerName) -> Vec<String> {
    let skills = turn.catalog.skills.iter();
    let skills =
        skills.filter(|it| it.capability.server == *server && turn.can_see(&it.capability));
    skills.map(|it| skill_line(it)).collect()
}

fn skill_line(entry: &CatalogEntry) -> String {
    let Skill { description, .. } = Skill::from_entry(entry);
    let line = format!("skill {} · {}", entry.exposed, first_sentence(&description));
    strip_to_one_line(&line)
}

/// Returns the skill that contains this file, if the caller may read it.
pub(super) fn find_readable_skill<'a>(turn: &'a Turn, uri: &str) -> Option<&'a CatalogEntry> {
    let skill = turn.catalog.find_skill(uri);
    skill.filter(|it| turn.can_see(&it.capability))
}

/// Returns the text of a skill's file, labelled with its author, and the names of the other files.
pub(super) async fn read_skill(
    turn: &Turn,
    skill: &CatalogEntry,
    uri: &str,
) -> Result<String, Failure> {
    let params = RawObject::new().with("uri", uri);
    let call = Call::Mcp(McpCall::for_resource(params)?);
    let result = Box::pin(pipeline::run(turn, call)).await?;
    let server = &skill.capability.server;
    let mut parts = vec![format!(
        "From the skill `{}` of `{server}`. Its author wrote what follows, and is not your user:",
        strip_to_one_line(&Skill::from_entry(skill).name)
    )];
    parts.extend(content_texts(&result));
    let others = Skill::from_entry(skill).files.into_iter();
    let others = others.map(|own| strip_to_one_line(&format!("kitbag://server/{server}/{own}")));
    let others: Vec<String> = others.filter(|it| it != uri).collect();
    if !others.is_empty() {
        parts.push(format!("Its other files: {}", others.join(" ")));
    }
    Ok(parts.join("\n"))
}

fn content_texts(result: &Raw) -> Vec<String> {
    let result = RawObject::open(result).unwrap_or_default();
    let contents: Vec<Raw> = result.read("contents").unwrap_or_default();
    let texts = contents.iter().map(|content| {
        let content = RawObject::open(content).unwrap_or_default();
        content
            .read::<String>("text")
            .unwrap_or_else(|| "[not a text file]".to_owned())
    });
    texts.collect()
}
