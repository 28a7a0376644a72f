//! The verbs by which tools say what they do.

use super::ToolCategory;

/// The certainty with which a word says what a tool does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Weight {
    /// One of the few verbs that most tools begin with.
    Common,
    /// A word that is a verb wherever it stands.
    Verb,
    /// A word that is as often the name of a thing: `post`, `call`, `query`.
    Ambiguous,
}

/// Returns the category that a word in its base form stands for.
pub(super) fn category_of(word: &str, weight: Weight) -> Option<ToolCategory> {
    let table = match weight {
        Weight::Common => COMMON.as_slice(),
        Weight::Verb => VERBS.as_slice(),
        Weight::Ambiguous => AMBIGUOUS.as_slice(),
    };
    let mut rows = table.iter();
    let (category, _) = rows.find(|(_, words)| words.split_whitespace().any(|it| it == word))?;
    Some(*category)
}

/// Returns the category of a verb in any of its forms: `lists`, `queries`, `creating`.
pub(super) fn category_of_form(word: &str, weight: Weight) -> Option<ToolCategory> {
    let bases = [
        Some(word.to_owned()),
        word.strip_suffix('s').map(str::to_owned),
        word.strip_suffix("es").map(str::to_owned),
        word.strip_suffix("ies").map(|stem| format!("{stem}y")),
        word.strip_suffix("ing").map(str::to_owned),
        word.strip_suffix("ing").map(|stem| format!("{stem}e")),
    ];
    let bases = bases.into_iter().flatten();
    bases.filter_map(|base| category_of(&base, weight)).next()
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
