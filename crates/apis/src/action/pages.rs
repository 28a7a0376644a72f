//! The further pages of an answer, whose items become one list.

use http::header::LINK;
use kitbag_tool_spec::{JsonPointer, PageRule};
use kitbag_wire::raw;
use serde_json::{Map, Value, json};
use url::{Origin, Url};

use super::ActionFault;
use super::answer::{self, ActionAnswer, AnswerPart, PageAnswer, PagesRead};
use super::run::{ActionRun, PageRequest};
use crate::fault::RequestFault;
use crate::received_response::ReceivedResponse;

/// The items so far, and the reason for the end.
struct PageCollection {
    items: Vec<Value>,
    pages: PagesRead,
    incomplete: Option<String>,
}

/// How to get the next page.
enum NextPage {
    None,
    At(PageRequest),
    /// It exists, but may not be requested.
    Refused(String),
}

/// Returns the items of as many pages as the caller requested. A later page that fails ends the
/// list.
pub(super) async fn collect_pages(
    run: &ActionRun<'_>,
    rule: &PageRule,
    mut request: PageRequest,
    first: PageAnswer,
) -> ActionAnswer {
    let mut page = match OpenedPage::open(rule, first) {
        Ok(page) => page,
        Err(answer) => return run.shape_page(*answer),
    };
    let status = page.received.status.as_u16();
    let most = page_limit(&request.arguments);
    let mut gathered = PageCollection::new();
    loop {
        gathered.add_page(&page, rule);
        let next = page.next_page(run, rule, &request);
        let Some(next) = gathered.check_next(next, most) else {
            break;
        };
        request = next;
        match fetch_next(run, rule, &request).await {
            Ok(next) => page = next,
            Err(reason) => {
                gathered.stop_early(reason);
                break;
            }
        }
    }
    gathered.into_answer(run, status)
}

/// Returns a later page, or the reason why there is none.
async fn fetch_next(
    run: &ActionRun<'_>,
    rule: &PageRule,
    request: &PageRequest,
) -> Result<OpenedPage, String> {
    let answered = run.fetch_page(request).await;
    let page = answered.map_err(|fault| describe_fault(run, &fault))?;
    OpenedPage::open(rule, page).map_err(|page| match *page {
        PageAnswer::Whole { received, .. } if answer::is_refusal(&received) => {
            answer::refusal_words(&run.action.answer, &received)
        }
        _ => "the next page has no list at the path where the other pages have it".to_owned(),
    })
}

fn describe_fault(run: &ActionRun<'_>, fault: &ActionFault) -> String {
    match fault {
        ActionFault::Request(RequestFault::TooLarge { .. }) => format!(
            "all pages together have more than {} bytes",
            run.api.declaration.max_response_bytes
        ),
        fault => format!("`{}` {fault}", run.api.tool),
    }
}

fn page_limit(arguments: &Map<String, Value>) -> u32 {
    let requested = arguments.get(PageRule::ARGUMENT).and_then(Value::as_u64);
    let requested = requested.and_then(|pages| u32::try_from(pages).ok());
    requested.unwrap_or(1).clamp(1, PageRule::MOST_PAGES)
}

/// A page with a list of items in it.
struct OpenedPage {
    url: Url,
    received: ReceivedResponse,
    body: Value,
}

impl OpenedPage {
    /// Returns the page unchanged if it has no list.
    fn open(rule: &PageRule, page: PageAnswer) -> Result<Self, Box<PageAnswer>> {
        let body = match &page {
            PageAnswer::Whole { received, .. } if !answer::is_refusal(received) => {
                answer::parse_json(received)
            }
            _ => None,
        };
        let body = body.filter(|body| rule.items().find(body).is_some_and(Value::is_array));
        match (page, body) {
            (PageAnswer::Whole { url, received }, Some(body)) => Ok(Self {
                url,
                received,
                body,
            }),
            (page, _) => Err(Box::new(page)),
        }
    }

    fn items(&self, rule: &PageRule) -> &[Value] {
        let items = rule.items().find(&self.body).and_then(Value::as_array);
        items.map_or(&[], Vec::as_slice)
    }

    fn next_page(&self, run: &ActionRun<'_>, rule: &PageRule, request: &PageRequest) -> NextPage {
        let request = request.with_remaining(self.received.body.len());
        match rule {
            PageRule::Cursor { next, into, .. } => match next_cursor(next, &self.body) {
                // A cursor that leads back to the same page would never end.
                Some(mark) if request.arguments.get(into) != Some(&mark) => {
                    NextPage::At(request.with_argument(into, mark))
                }
                _ => NextPage::None,
            },
            PageRule::Number { argument, .. } => match self.items(rule).is_empty() {
                true => NextPage::None,
                false => {
                    let next = next_number(run, &request, argument);
                    NextPage::At(request.with_argument(argument, next.into()))
                }
            },
            PageRule::Link { relation, .. } => self.linked_page(run, relation, &request),
        }
    }

    fn linked_page(&self, run: &ActionRun<'_>, relation: &str, request: &PageRequest) -> NextPage {
        let headers = self.received.headers.get_all(LINK).iter();
        let mut lines = headers.filter_map(|value| value.to_str().ok());
        let Some(target) = lines.find_map(|line| find_link(line, relation)) else {
            return NextPage::None;
        };
        match run
            .api_origin()
            .and_then(|home| same_origin_url(&home, &self.url, target))
        {
            Some(url) => NextPage::At(PageRequest {
                link: Some(url),
                ..request.clone()
            }),
            None => NextPage::Refused(
                "the next page has a different origin, to which the credential is not sent"
                    .to_owned(),
            ),
        }
    }
}

impl PageRequest {
    /// All pages together must not exceed the limit of one answer.
    fn with_remaining(&self, bytes: usize) -> Self {
        Self {
            max_bytes: self.max_bytes.saturating_sub(bytes),
            ..self.clone()
        }
    }

    fn with_argument(&self, argument: &str, value: Value) -> Self {
        let mut next = self.clone();
        next.arguments.insert(argument.to_owned(), value);
        next
    }
}

/// Returns the cursor of the next page; at the end, APIs write null, false, an empty text or
/// nothing, or say in another field that there are no more.
fn next_cursor(next: &JsonPointer, body: &Value) -> Option<Value> {
    let around = next.as_str().rsplit_once('/').map_or("", |(way, _)| way);
    if body.pointer(around)?.get("has_more") == Some(&Value::Bool(false)) {
        return None;
    }
    match next.find(body)? {
        Value::Null | Value::Bool(false) => None,
        Value::String(text) if text.is_empty() => None,
        mark => Some(mark.clone()),
    }
}

/// Returns the number of the page after this one.
fn next_number(run: &ActionRun<'_>, request: &PageRequest, argument: &str) -> u64 {
    let given = request.arguments.get(argument);
    let given = given.or_else(|| run.action.defaults.get(argument));
    given.and_then(Value::as_u64).unwrap_or(1) + 1
}

/// Returns the address of a link, if it has the origin that the credential goes to. A redirect may
/// have led the previous page to another host, whose links must not get the credential.
fn same_origin_url(home: &Origin, page: &Url, target: &str) -> Option<Url> {
    let url = page.join(target).ok()?;
    (url.origin() == *home).then_some(url)
}

/// Returns the address with this relation in the `Link` header.
fn find_link<'a>(line: &'a str, relation: &str) -> Option<&'a str> {
    // An address may contain a comma, so links are split at their brackets.
    line.split('<').skip(1).find_map(|link| {
        let (target, parameters) = link.split_once('>')?;
        let named = parameters.split(';').any(|parameter| {
            let (name, value) = parameter.split_once('=').unwrap_or_default();
            let value = value.trim().trim_end_matches(',').trim_matches('"');
            name.trim().eq_ignore_ascii_case("rel")
                && value.split_whitespace().any(|word| word == relation)
        });
        named.then_some(target)
    })
}

impl PageCollection {
    fn new() -> Self {
        Self {
            items: Vec::new(),
            pages: PagesRead {
                read: 0,
                more: false,
                next: None,
            },
            incomplete: None,
        }
    }

    fn add_page(&mut self, page: &OpenedPage, rule: &PageRule) {
        self.items.extend_from_slice(page.items(rule));
        self.pages.read += 1;
        self.pages.next = match rule {
            PageRule::Cursor { next, .. } => next_cursor(next, &page.body),
            PageRule::Link { .. } | PageRule::Number { .. } => None,
        };
    }

    fn check_next(&mut self, next: NextPage, most: u32) -> Option<PageRequest> {
        match next {
            NextPage::At(next) if self.pages.read < most => return Some(next),
            NextPage::At(_) => self.pages.more = true,
            NextPage::None => {}
            NextPage::Refused(reason) => self.stop_early(reason),
        }
        None
    }

    fn stop_early(&mut self, reason: String) {
        self.pages.more = true;
        self.incomplete = Some(reason);
    }

    fn into_answer(self, run: &ActionRun<'_>, status: u16) -> ActionAnswer {
        let items = Value::Array(self.items);
        let mut list = json!({
            "items": answer::keep_members(&run.action.answer.keep, &items),
            "pages": self.pages.read,
            "more": self.pages.more,
        });
        if let Some(next) = &self.pages.next {
            list["next"] = next.clone();
        }
        if let Some(reason) = &self.incomplete {
            list["incomplete"] = json!(reason);
        }
        ActionAnswer {
            pages: Some(self.pages),
            incomplete: self.incomplete,
            ..ActionAnswer::new(status, vec![AnswerPart::Json(raw(&list))])
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_takes_the_credential_nowhere_but_to_the_api_also_from_a_page_after_a_redirect() {
        let home = Url::parse("https://api.example/v1").unwrap();
        for (page, target, stays) in [
            ("https://api.example/v1/items", "?page=2", true),
            ("https://api.example/v1/items", "/v2/items", true),
            ("https://api.example/v1", "https://api.example:443/x", true),
            ("https://api.example/v1", "//files.example/x", false),
            ("https://api.example/v1", "\\\\files.example\\x", false),
            (
                "https://api.example/v1",
                "https://api.example.evil/x",
                false,
            ),
            (
                "https://api.example/v1",
                "https://api.example@evil/x",
                false,
            ),
            (
                "https://api.example/v1",
                "https://api.example:8443/x",
                false,
            ),
            ("https://api.example/v1", "http://api.example/x", false),
            ("https://api.example/v1", "javascript:x", false),
            // Reached by a redirect.
            ("https://files.example/items", "?page=2", false),
            (
                "https://files.example/items",
                "https://files.example/x",
                false,
            ),
            (
                "https://files.example/items",
                "https://api.example/v1",
                true,
            ),
        ] {
            let found = same_origin_url(&home.origin(), &Url::parse(page).unwrap(), target);
            assert_eq!(found.is_some(), stays, "{page} {target}: {found:?}");
        }
    }
}
