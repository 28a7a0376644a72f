//! The verbs that classify tools.

use super::ToolCategory;

/// How clearly a word indicates a category.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum VerbCertainty {
    /// One of the few verbs that most tools begin with.
    Common,
    /// A verb in any position.
    Verb,
    /// Just as often a noun: `post`, `call`, `query`.
    Ambiguous,
}

/// Returns the category of a word in its base form.
pub(super) fn category_of(word: &str, certainty: VerbCertainty) -> Option<ToolCategory> {
    let table = match certainty {
        VerbCertainty::Common => COMMON.as_slice(),
        VerbCertainty::Verb => VERBS.as_slice(),
        VerbCertainty::Ambiguous => AMBIGUOUS.as_slice(),
    };
    let mut rows = table.iter();
    let (category, _) = rows.find(|(_, words)| words.split_whitespace().any(|it| it == word))?;
    Some(*category)
}

/// Returns the category of a verb in any form: `lists`, `queries`, `creating`.
pub(super) fn category_of_form(word: &str, certainty: VerbCertainty) -> Option<ToolCategory> {
    let bases = [
        Some(word.to_owned()),
        word.strip_suffix('s').map(str::to_owned),
        word.strip_suffix("es").map(str::to_owned),
        word.strip_suffix("ies").map(|stem| format!("{stem}y")),
        word.strip_suffix("ing").map(str::to_owned),
        word.strip_suffix("ing").map(|stem| format!("{stem}e")),
    ];
    let bases = bases.into_iter().flatten();
    bases
        .filter_map(|base| category_of(&base, certainty))
        .next()
}

const COMMON: [(ToolCategory, &str); 6] = [
    (ToolCategory::Query, "list"),
    (ToolCategory::Search, "search find"),
    (ToolCategory::Read, "get fetch retrieve"),
    (ToolCategory::Create, "create add"),
    (ToolCategory::Update, "update set"),
    (ToolCategory::Delete, "delete remove"),
];

const VERBS: [(ToolCategory, &str); 9] = [
    (ToolCategory::Query, "list count enumerate ls filter"),
    (
        ToolCategory::Search,
        "search find lookup discover browse explore geocode suggest autocomplete recommend research \
         grep locate scan",
    ),
    (
        ToolCategory::Read,
        "get read fetch retrieve show view describe download export inspect display load preview \
         return provide learn tail cat extract scrape capture recall peek obtain poll introspect",
    ),
    (
        ToolCategory::Create,
        "create add insert make generate register import upload write draft clone duplicate copy \
         append save store attach schedule fork init initialize provision remember render compose \
         reserve allocate draw push",
    ),
    (
        ToolCategory::Update,
        "update edit set modify patch change rename move assign configure enable disable replace \
         manage merge upsert apply adjust toggle mark lock unlock pin unpin unlink resize ungroup \
         align select switch archive unarchive restore reopen resolve approve reject transition \
         sync transfer revert rotate promote subscribe put grant upgrade override reorder \
         acknowledge reassign bind hide unhide scale mute unmute rollback synchronize populate \
         optimize prepend split",
    ),
    (
        ToolCategory::Delete,
        "delete remove drop clear destroy cancel purge revoke unassign detach uninstall trash erase \
         terminate kill deregister forget unsubscribe discard dismiss flush",
    ),
    (
        ToolCategory::Send,
        "send publish reply forward notify share invite submit broadcast announce dispatch",
    ),
    (
        ToolCategory::Run,
        "run execute invoke trigger deploy start stop restart reboot launch install click press tap \
         navigate scroll hover drag swipe wait sleep reset retry rerun replay resume pause connect \
         disconnect login logout authenticate crawl perform simulate refresh shutdown eval activate \
         deactivate redeploy",
    ),
    (
        ToolCategory::Analyse,
        "analyze analyse compare diff check validate verify calculate compute summarize summarise \
         evaluate assess convert translate detect classify explain estimate forecast predict \
         diagnose audit measure lint parse benchmark rank investigate troubleshoot ping identify \
         visualize correlate",
    ),
];

const AMBIGUOUS: [(ToolCategory, &str); 8] = [
    (ToolCategory::Query, "query queries"),
    (
        ToolCategory::Read,
        "guide screenshot snapshot status info help docs documentation",
    ),
    (
        ToolCategory::Create,
        "new build comment record book commit issue",
    ),
    (
        ToolCategory::Update,
        "tag group link sort format close map fill join follow label order complete",
    ),
    (ToolCategory::Delete, "leave"),
    (ToolCategory::Send, "post email message ask request tweet"),
    (
        ToolCategory::Run,
        "call power type test process play batch open exec command step",
    ),
    (
        ToolCategory::Analyse,
        "review score profile trace plan think debug report",
    ),
];
