//! `[surfaces]` and `[groups]`: the surfaces that clients are shown, and the tools that belong
//! together.

use kitbag_domain::Surface;
use kitbag_policy::{Pattern, PatternError};
use toml::Spanned;

use crate::build::Section;
use crate::error::{Fault, Problem};
use crate::nearest;
use crate::raw::{Named, RawSurfaces, Texts};

/// The rules that choose a surface for clients that connect to a path that names no surface, and
/// the largest size of an answer.
#[derive(Debug, Clone)]
pub struct Surfaces {
    pub default: Surface,
    /// The surface for a key, by the id of the key.
    pub keys: Vec<(String, Surface)>,
    /// The surface for a client, by the name that the client gives itself.
    pub clients: Vec<(Pattern, Surface)>,
    /// The tools that the adaptive surface always lists.
    pub pinned: Vec<Pattern>,
    /// The groups that the configuration defines, each with the tools in it.
    pub groups: Vec<(String, Vec<Pattern>)>,
    /// The number of tokens that a result may have before it is cut.
    pub result_tokens: usize,
}

impl Default for Surfaces {
    fn default() -> Self {
        Self {
            default: Surface::Search,
            keys: Vec::new(),
            clients: Vec::new(),
            pinned: Vec::new(),
            groups: Vec::new(),
            result_tokens: 8_000,
        }
    }
}

pub(crate) fn build(raw: RawSurfaces, groups: Named<Texts>) -> Result<Surfaces, Fault> {
    let section = Section {
        key: "surfaces".to_owned(),
        span: 0..0,
    };
    let default = Surfaces::default();
    let keys = raw
        .keys
        .into_iter()
        .map(|(id, name)| Ok((id.into_inner(), surface(&section, "keys", &name)?)));
    let clients = raw.clients.into_iter().map(|(client, name)| {
        let pattern = pattern(&section, "clients", &client, Pattern::any)?;
        Ok((pattern, surface(&section, "clients", &name)?))
    });
    let groups = groups.into_iter().map(|(name, members)| {
        let section = Section {
            key: "groups".to_owned(),
            span: name.span(),
        };
        let patterns = members
            .iter()
            .map(|text| pattern(&section, name.get_ref(), text, Pattern::tool));
        Ok((
            name.get_ref().clone(),
            patterns.collect::<Result<_, Fault>>()?,
        ))
    });
    Ok(Surfaces {
        default: raw.default.map_or(Ok(default.default), |name| {
            surface(&section, "default", &name)
        })?,
        keys: keys.collect::<Result<_, Fault>>()?,
        clients: clients.collect::<Result<_, Fault>>()?,
        pinned: raw
            .pinned
            .iter()
            .map(|text| pattern(&section, "pinned", text, Pattern::tool))
            .collect::<Result<_, Fault>>()?,
        groups: groups.collect::<Result<_, Fault>>()?,
        result_tokens: section.number(
            "result_tokens",
            raw.result_tokens,
            200,
            default.result_tokens,
        )?,
    })
}

fn surface(section: &Section, key: &str, name: &Spanned<String>) -> Result<Surface, Fault> {
    name.get_ref().parse().map_err(|_| {
        let known = Surface::ALL.map(Surface::as_str);
        let (found, nearest) = (name.get_ref().clone(), nearest(name.get_ref(), known));
        section.wrong_at(
            key,
            name,
            Problem::NotOneOf {
                found,
                choices: known.to_vec(),
                nearest,
            },
        )
    })
}

fn pattern(
    section: &Section,
    key: &str,
    text: &Spanned<String>,
    compile: fn(&str) -> Result<Pattern, PatternError>,
) -> Result<Pattern, Fault> {
    compile(text.get_ref()).map_err(|error| section.wrong_at(key, text, error))
}
