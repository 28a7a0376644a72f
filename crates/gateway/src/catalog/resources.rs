//! Routes a resource's URI to its server, where several servers are merged.
//!
//! Servers choose their URIs freely, so two may claim the same one, by accident or to impersonate
//! each other. A listed URI takes precedence over a template, and a template with a longer literal
//! prefix over one with a shorter prefix. Where several servers remain, none of them is asked: the
//! caller must name one, as `kitbag://server/<server>/<uri>`.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use kitbag_domain::{Capability, Kind, ServerName};
use kitbag_wire::{Raw, RawObject};

use crate::catalog::uri_template::UriTemplate;

/// Returns true if the caller may see the capability.
pub(crate) type Visible<'a> = &'a dyn Fn(&Capability) -> bool;

#[derive(Debug, Default)]
pub(crate) struct ResourceRoutes {
    listed: HashMap<String, BTreeSet<ServerName>>,
    templates: HashMap<String, BTreeSet<ServerName>>,
    /// The templates whose scheme is literal.
    matchers: Vec<(UriTemplate, ServerName)>,
    servers: BTreeSet<ServerName>,
    /// The servers with the resources capability, whether listed or not.
    with_resources: BTreeSet<ServerName>,
}

/// The target of a URI.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Route {
    To(Capability),
    /// Several servers have an equal claim.
    Contested(Vec<Capability>),
    Nowhere,
}

impl ResourceRoutes {
    /// Adds a server with the resources and templates that callers get.
    pub(crate) fn add_server<'a>(
        &mut self,
        server: &ServerName,
        has_resources: bool,
        resources: impl IntoIterator<Item = &'a Raw>,
        templates: impl IntoIterator<Item = &'a Raw>,
    ) {
        self.servers.insert(server.clone());
        if has_resources {
            self.with_resources.insert(server.clone());
        }
        let resources = resources.into_iter();
        for uri in resources.filter_map(|it| read_string(it, "uri")) {
            self.listed.entry(uri).or_default().insert(server.clone());
        }
        let templates = templates.into_iter();
        for template in templates.filter_map(|it| read_string(it, "uriTemplate")) {
            let parsed = UriTemplate::parse(&template);
            let owners = self.templates.entry(template).or_default();
            if owners.insert(server.clone()) && parsed.has_scheme() {
                self.matchers.push((parsed, server.clone()));
            }
        }
    }

    pub(crate) fn route_resource(&self, uri: &str, visible: Visible<'_>) -> Route {
        if has_kitbag_scheme(uri) {
            return self.route_marked_uri(uri);
        }
        self.route_for_caller(uri, visible, |seen| {
            let claims = [
                self.listed_claims(uri, seen),
                self.template_claims(uri, seen),
                self.sole_server_claim(uri, seen),
            ];
            claims
                .into_iter()
                .find(|claims| !claims.is_empty())
                .unwrap_or_default()
        })
    }

    /// Returns the owner of a template, or of a resource with that URI, for a completion.
    pub(crate) fn route_template(&self, template: &str, visible: Visible<'_>) -> Route {
        if has_kitbag_scheme(template) {
            return self.route_marked_uri(template);
        }
        match self.templates.get(template) {
            Some(servers) => {
                self.route_for_caller(template, visible, |seen| claims(servers, template, seen))
            }
            None => self.route_resource(template, visible),
        }
    }

    /// True if a server's URI or template is shown to this caller with its server's mark, because
    /// the bare URI would not lead to that server.
    pub(crate) fn is_marked(
        &self,
        owner: &Capability,
        is_template: bool,
        visible: Visible<'_>,
    ) -> bool {
        let uri = owner.name.as_str();
        if has_kitbag_scheme(uri) || (is_template && !UriTemplate::parse(uri).has_scheme()) {
            return true;
        }
        let claimed = if is_template {
            self.templates.get(uri)
        } else {
            self.listed.get(uri)
        };
        let others = claimed
            .into_iter()
            .flatten()
            .filter(|server| **server != owner.server);
        others
            .map(|server| claim(server, uri))
            .any(|other| visible(&other))
    }

    /// Returns the URIs and templates that several servers claim, each with its servers.
    pub(crate) fn contested_uris(&self) -> BTreeMap<&str, &BTreeSet<ServerName>> {
        let all = self.listed.iter().chain(&self.templates);
        all.filter(|(_, servers)| servers.len() > 1)
            .map(|(uri, servers)| (uri.as_str(), servers))
            .collect()
    }

    /// A claim that is hidden from a caller must not block a claim that the caller sees. If the
    /// caller sees no owner, one of the hidden owners is returned, which the policy then denies.
    fn route_for_caller(
        &self,
        uri: &str,
        visible: Visible<'_>,
        claims: impl Fn(Visible<'_>) -> Vec<Capability>,
    ) -> Route {
        let mut seen = claims(visible);
        match seen.len() {
            0 => claims(&|_| true)
                .into_iter()
                .next()
                .map_or(Route::Nowhere, Route::To),
            1 => Route::To(seen.remove(0)),
            _ => {
                tracing::debug!(
                    uri,
                    servers = seen.len(),
                    "a resource is claimed by several servers"
                );
                Route::Contested(seen)
            }
        }
    }

    fn listed_claims(&self, uri: &str, seen: Visible<'_>) -> Vec<Capability> {
        self.listed
            .get(uri)
            .map(|servers| claims(servers, uri, seen))
            .unwrap_or_default()
    }

    fn template_claims(&self, uri: &str, seen: Visible<'_>) -> Vec<Capability> {
        let mut best: (usize, BTreeSet<ServerName>) = Default::default();
        for (template, server) in &self.matchers {
            let literal = template.literal_prefix().len();
            if literal >= best.0 && template.matches(uri) && seen(&claim(server, uri)) {
                if literal > best.0 {
                    best = (literal, BTreeSet::new());
                }
                best.1.insert(server.clone());
            }
        }
        best.1.iter().map(|server| claim(server, uri)).collect()
    }

    /// The only server with resources is asked for every URI that no server lists.
    fn sole_server_claim(&self, uri: &str, seen: Visible<'_>) -> Vec<Capability> {
        let having = claims(&self.with_resources, uri, seen);
        if having.len() == 1 {
            having
        } else {
            Vec::new()
        }
    }

    fn route_marked_uri(&self, uri: &str) -> Route {
        let found = parse_marked_uri(uri).filter(|(server, _)| self.servers.contains(server));
        found.map_or(Route::Nowhere, |(server, own)| {
            Route::To(claim(&server, own))
        })
    }
}

const MARK: &str = "kitbag://server/";

/// The key in `_meta` under which a question or a skill names its server, since the client sees
/// only Kitbag.
pub(crate) const ORIGIN_SERVER: &str = "io.kitbag/server";

/// Prefixes a server's own URI with its server.
pub(crate) fn mark_uri(owner: &Capability) -> String {
    format!("{MARK}{}/{}", owner.server, owner.name)
}

/// Returns the server that a marked URI names, and the server's own URI.
pub fn parse_marked_uri(uri: &str) -> Option<(ServerName, &str)> {
    let (server, own) = uri.strip_prefix(MARK)?.split_once('/')?;
    Some((server.parse().ok()?, own))
}

/// URIs of Kitbag itself: a server that lists one must not be mistaken for the server named in it.
fn has_kitbag_scheme(uri: &str) -> bool {
    const SCHEME: &str = "kitbag:";
    uri.get(..SCHEME.len())
        .is_some_and(|scheme| scheme.eq_ignore_ascii_case(SCHEME))
}

fn claims(servers: &BTreeSet<ServerName>, uri: &str, seen: Visible<'_>) -> Vec<Capability> {
    servers
        .iter()
        .map(|server| claim(server, uri))
        .filter(|it| seen(it))
        .collect()
}

fn claim(server: &ServerName, uri: &str) -> Capability {
    Capability {
        server: server.clone(),
        kind: Kind::Resource,
        name: uri.to_owned(),
    }
}

fn read_string(definition: &Raw, field: &str) -> Option<String> {
    serde_json::from_str(RawObject::peek_member(definition, field)?.get()).ok()
}

#[cfg(test)]
mod tests {
    use kitbag_wire::raw;
    use serde_json::json;

    use super::*;

    /// `server uri uri {template} …`, one server per line; a word with a brace is a template.
    fn routes(world: &str) -> ResourceRoutes {
        let mut routes = ResourceRoutes::default();
        let lines = world.lines().map(str::trim);
        for line in lines.filter(|line| !line.is_empty()) {
            let (server, offered) = line.split_once(' ').unwrap();
            let (templates, resources): (Vec<&str>, Vec<&str>) = offered
                .split_whitespace()
                .partition(|word| word.contains('{'));
            let resources = resources.iter().map(|uri| raw(&json!({ "uri": uri })));
            let templates = templates
                .iter()
                .map(|uri| raw(&json!({ "uriTemplate": uri })));
            routes.add_server(
                &server.parse().unwrap(),
                true,
                &resources.collect::<Vec<_>>(),
                &templates.collect::<Vec<_>>(),
            );
        }
        routes
    }

    /// Checks which server owns the URI for a caller who sees only these servers: `good`, `a or b`,
    /// or none.
    #[track_caller]
    fn check(world: &str, sees: &str, uri: &str, expected: &str) {
        let visible = |it: &Capability| {
            sees.split_whitespace()
                .any(|name| name == it.server.as_str())
        };
        let found = match routes(world).route_resource(uri, &visible) {
            Route::To(owner) => format!("{} {}", owner.server, owner.name),
            Route::Contested(owners) => owners
                .iter()
                .map(|it| it.server.as_str())
                .collect::<Vec<_>>()
                .join(" or "),
            Route::Nowhere => "nobody".to_owned(),
        };
        assert_eq!(found, expected, "{uri} for a caller who sees {sees}");
    }

    const TWO: &str = "
        aaa mem://public/a {+any} {x}://{+rest} kitbag://server/good/mem://public/b kitbag://server/good/{+x}
        good mem://public/a mem://public/b mem://public/{+name}";

    #[test]
    fn a_server_cannot_take_over_what_another_lists_or_has_templates_for() {
        check(TWO, "aaa good", "mem://public/zzz", "good mem://public/zzz");
        check(TWO, "aaa good", "mem://public/b", "good mem://public/b");
        check(TWO, "aaa good", "mem://public/a", "aaa or good");
        check(TWO, "aaa good", "other://x", "nobody");
    }

    #[test]
    fn a_marked_uri_leads_to_the_server_it_names_whatever_others_list() {
        check(
            TWO,
            "aaa good",
            "kitbag://server/good/mem://public/a",
            "good mem://public/a",
        );
        check(
            TWO,
            "aaa good",
            "kitbag://server/good/mem://public/b",
            "good mem://public/b",
        );
        check(
            TWO,
            "aaa good",
            "kitbag://server/aaa/mem://public/a",
            "aaa mem://public/a",
        );
        check(
            TWO,
            "aaa good",
            "kitbag://server/nobody/mem://public/a",
            "nobody",
        );
        check(
            TWO,
            "aaa good",
            "KITBAG://server/good/mem://public/a",
            "nobody",
        );
    }

    #[test]
    fn hidden_claims_do_not_block_visible_ones() {
        check(TWO, "good", "mem://public/a", "good mem://public/a");
        check(TWO, "aaa", "mem://public/a", "aaa mem://public/a");
        check(TWO, "", "mem://public/zzz", "good mem://public/zzz");
    }

    #[test]
    fn the_most_literal_template_wins_and_equal_ones_tie() {
        let world = "a file:///{+path}\nb file:///home/{+path}\nc file:///home/{+rest}\nd file:///etc/hosts";
        check(world, "a b c d", "file:///tmp/x", "a file:///tmp/x");
        check(world, "a b c d", "file:///home/x", "b or c");
        check(world, "a b d", "file:///home/x", "b file:///home/x");
        check(world, "a b c d", "file:///etc/hosts", "d file:///etc/hosts");
    }

    #[test]
    fn the_only_server_with_resources_is_asked_for_unlisted_uris() {
        check("a x://1", "a", "y://2", "a y://2");
        check("a x://1 {+any}\nb x://2", "a b", "y://2", "nobody");
    }

    #[test]
    fn a_contested_uri_is_marked_for_callers_who_see_several_claims() {
        let routes = routes(TWO);
        let all = |_: &Capability| true;
        let only_good = |it: &Capability| it.server.as_str() == "good";
        let good = claim(&"good".parse().unwrap(), "mem://public/a");
        assert!(
            routes.is_marked(&good, false, &all) && !routes.is_marked(&good, false, &only_good)
        );
        let greedy = claim(&"aaa".parse().unwrap(), "{+any}");
        assert!(routes.is_marked(&greedy, true, &only_good));
        assert_eq!(mark_uri(&good), "kitbag://server/good/mem://public/a");
        assert_eq!(
            routes.contested_uris().into_keys().collect::<Vec<_>>(),
            ["mem://public/a"]
        );
    }
}
