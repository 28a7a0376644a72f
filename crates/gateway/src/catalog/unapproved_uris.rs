//! The URIs of locked servers that lead to unapproved definitions.
//!
//! A URI may belong to a listed resource, to a template and to a skill at once. An approved
//! definition permits it, and an unlisted URI is data that no definition describes.

use std::collections::{BTreeMap, HashMap};

use kitbag_domain::{Capability, DefinitionKind, Kind, ServerName};
use kitbag_lockfile::{Judgement, ListedOffer, UnapprovedReason};
use kitbag_wire::{Raw, RawObject};

use crate::catalog::resources::parse_marked_uri;
use crate::catalog::skills::listed_files;
use crate::catalog::uri_template::UriTemplate;

/// A definition that is withheld, with its URI as the capability's name.
#[derive(Debug, Clone)]
pub(crate) struct UnapprovedUri {
    pub(crate) capability: Capability,
    pub(crate) kind: DefinitionKind,
    pub(crate) reason: UnapprovedReason,
}

/// The servers with unapproved resource templates, skills or resources.
#[derive(Debug, Default)]
pub(crate) struct UnapprovedUris(BTreeMap<ServerName, JudgedUris>);

/// The judged definitions of one server. A number is a position in `unapproved`; there is none for
/// an approved definition.
#[derive(Debug, Default)]
struct JudgedUris {
    unapproved: Vec<UnapprovedUri>,
    resources: HashMap<String, Option<usize>>,
    templates: Vec<(UriTemplate, Option<usize>)>,
    /// The files of skills, including the URIs of the skills themselves.
    skill_files: HashMap<String, Option<usize>>,
}

impl UnapprovedUris {
    pub(crate) fn add_server(
        &mut self,
        server: &ServerName,
        judgement: &Judgement,
        offer: ListedOffer<'_>,
    ) {
        let kinds = DefinitionKind::ALL.into_iter().filter(|it| it.has_uri());
        let mut withheld = kinds.clone().flat_map(|it| judgement.withheld(it, offer));
        if withheld.next().is_none() {
            return;
        }
        let mut judged = JudgedUris::default();
        for kind in kinds {
            for (definition, reason) in judgement.judged(kind, offer) {
                judged.add(server, kind, definition, reason);
            }
        }
        self.0.insert(server.clone(), judged);
    }

    /// Returns the unapproved definition to which this URI of a server leads.
    pub(crate) fn find(&self, server: &ServerName, uri: &str) -> Option<&UnapprovedUri> {
        self.0.get(server)?.find(uri)
    }

    /// Returns the unapproved definition to which a client's URI leads, if the client may see it.
    pub(crate) fn find_visible(
        &self,
        uri: &str,
        visible: impl Fn(&Capability) -> bool,
    ) -> Option<&UnapprovedUri> {
        let marked = parse_marked_uri(uri);
        let own = marked.as_ref().map_or(uri, |(_, own)| own);
        let meant = self.0.iter().filter(|(server, _)| {
            let is_named = marked.as_ref().is_none_or(|(named, _)| named == *server);
            is_named && visible(&resource(server, own))
        });
        let mut found = meant.filter_map(|(_, judged)| judged.find(own));
        found.find(|it| visible(&it.capability))
    }

    /// Returns the unapproved skill that has files in this directory.
    pub(crate) fn find_directory(&self, server: &ServerName, uri: &str) -> Option<&UnapprovedUri> {
        let judged = self.0.get(server)?;
        let inside = |file: &&String| {
            let rest = file.strip_prefix(uri.trim_end_matches('/'));
            rest.is_some_and(|rest| rest.starts_with('/'))
        };
        let files = judged.skill_files.iter();
        let owners: Vec<_> = files
            .filter(|(file, _)| inside(file))
            .map(|(_, owner)| owner)
            .collect();
        let is_approved = owners.iter().any(|owner| owner.is_none());
        let owner = owners.into_iter().find_map(|owner| *owner);
        let owner = owner.filter(|_| !is_approved);
        owner.map_or_else(|| judged.find(uri), |at| judged.unapproved.get(at))
    }

    /// Returns the reason to withhold a definition.
    pub(crate) fn reason(
        &self,
        kind: DefinitionKind,
        capability: &Capability,
    ) -> Option<&UnapprovedReason> {
        let mut unapproved = self.of_server(&capability.server);
        let found = unapproved.find(|it| it.kind == kind && it.capability == *capability)?;
        Some(&found.reason)
    }

    pub(crate) fn of_server(&self, server: &ServerName) -> impl Iterator<Item = &UnapprovedUri> {
        let judged = self.0.get(server).into_iter();
        judged.flat_map(|it| &it.unapproved)
    }

    /// Returns the number of withheld definitions per server.
    pub(crate) fn counts(&self) -> impl Iterator<Item = (&ServerName, usize)> {
        let servers = self.0.iter();
        servers.map(|(server, judged)| (server, judged.unapproved.len()))
    }
}

impl JudgedUris {
    fn add(
        &mut self,
        server: &ServerName,
        kind: DefinitionKind,
        definition: &Raw,
        reason: Option<&UnapprovedReason>,
    ) {
        let key = RawObject::peek_member(definition, kind.key());
        let Some(uri) = key.and_then(|key| serde_json::from_str::<String>(key.get()).ok()) else {
            return;
        };
        let unapproved = reason.map(|reason| {
            self.unapproved.push(UnapprovedUri {
                capability: resource(server, &uri),
                kind,
                reason: reason.clone(),
            });
            self.unapproved.len() - 1
        });
        match kind {
            DefinitionKind::ResourceTemplate => {
                self.templates.push((UriTemplate::parse(&uri), unapproved));
            }
            DefinitionKind::Skill => {
                for file in listed_files(definition).into_iter().chain([uri]) {
                    let owner = self.skill_files.entry(file).or_insert(unapproved);
                    // A file of several skills is permitted by each.
                    *owner = owner.and(unapproved);
                }
            }
            DefinitionKind::Tool | DefinitionKind::Prompt | DefinitionKind::Resource => {
                self.resources.entry(uri).or_insert(unapproved);
            }
        }
    }

    fn find(&self, uri: &str) -> Option<&UnapprovedUri> {
        let listed = self
            .skill_files
            .get(uri)
            .or_else(|| self.resources.get(uri));
        let found = match listed {
            Some(owner) => *owner,
            None => self.find_template(uri),
        };
        found.and_then(|at| self.unapproved.get(at))
    }

    fn find_template(&self, uri: &str) -> Option<usize> {
        let matching = self.templates.iter().filter(|(it, _)| it.matches(uri));
        let owners: Vec<_> = matching.map(|(_, owner)| *owner).collect();
        let is_approved = owners.iter().any(Option::is_none);
        owners.into_iter().flatten().next().filter(|_| !is_approved)
    }
}

fn resource(server: &ServerName, uri: &str) -> Capability {
    Capability {
        server: server.clone(),
        kind: Kind::Resource,
        name: uri.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use kitbag_lockfile::{ListedDefinition, LockedServer};
    use kitbag_wire::raw;
    use serde_json::json;

    use super::*;

    /// Checks that `uri` leads to the unapproved definition with this URI. The server was locked
    /// with `x:a` and its file, the template `x:t/{id}`, and nothing else.
    #[track_caller]
    fn check(uri: &str, expected: Option<&str>) {
        let skill = |uri: &str, files: &[&str]| {
            let files: Vec<_> = files.iter().map(|uri| json!({ "uri": uri })).collect();
            raw(&json!({ "uri": uri, "resources": files }))
        };
        let template = |uri: &str| raw(&json!({ "uriTemplate": uri, "name": uri }));
        let skills = [
            skill("x:a", &["x:a", "x:shared"]),
            skill("x:b", &["x:b", "x:b/folder/file", "x:shared"]),
        ];
        let templates = [template("x:t/{id}"), template("x:{+any}")];
        let resources = [raw(&json!({ "uri": "x:listed" }))];
        let offer = ListedOffer {
            tools: &[],
            prompts: &[],
            resource_templates: &templates,
            skills: &skills,
            resources: &resources,
            unmasked: &[],
        };
        let approved = [
            ListedDefinition::parse(DefinitionKind::Skill, &skills[0]),
            ListedDefinition::parse(DefinitionKind::ResourceTemplate, &templates[0]),
        ];
        let approved: Vec<_> = approved.into_iter().flatten().collect();
        let locked = LockedServer::from_listed(&LockedServer::USUAL_KINDS, &approved);
        let server: ServerName = "s".parse().unwrap();
        let mut uris = UnapprovedUris::default();
        uris.add_server(&server, &Judgement::against_lock(&locked, offer), offer);
        let found = uris.find_directory(&server, uri);
        assert_eq!(
            found.map(|it| it.capability.name.as_str()),
            expected,
            "{uri}"
        );
        let marked = format!("kitbag://server/s/{uri}");
        if !uri.ends_with("folder") {
            let found = uris.find_visible(&marked, |_| true);
            assert_eq!(
                found.map(|it| it.capability.name.as_str()),
                expected,
                "{marked}"
            );
        }
        assert!(uris.find_visible(&marked, |_| false).is_none());
    }

    #[test]
    fn a_uri_is_withheld_if_only_unapproved_definitions_lead_to_it() {
        check("x:a", None);
        check("x:b", Some("x:b"));
        check("x:b/folder/file", Some("x:b"));
        check("x:b/folder", Some("x:b"));
        check("x:shared", None);
        check("x:listed", None);
        check("x:t/1", None);
        check("x:other", Some("x:{+any}"));
        check("y:other", None);
    }
}
