//! Catalog tools through the real binary: each call becomes the request documented by the provider,
//! with the tenant's credential.

use std::sync::{Arc, Mutex};

use axum::Router;
use axum::extract::{Request, State};
use http::HeaderMap;
use serde_json::{Value, json};

use super::text;
use crate::harness::{Era, Home};

/// A provider that issues tokens and answers everything else with an empty object.
struct Provider {
    url: String,
    seen: Arc<Mutex<Vec<SeenRequest>>>,
    serving: tokio::task::JoinHandle<()>,
}

struct SeenRequest {
    line: String,
    headers: HeaderMap,
    body: String,
}

impl Provider {
    async fn start() -> Self {
        let seen = Arc::<Mutex<Vec<SeenRequest>>>::default();
        let router = Router::new().fallback(answer).with_state(seen.clone());
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let serving = tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        Self { url, seen, serving }
    }

    /// The table that points the tool to this provider.
    fn endpoint(&self, tool: &str, base: &str, has_login: bool) -> String {
        let url = &self.url;
        let token = match has_login {
            true => format!("token_url = '{url}/token'\n"),
            false => String::new(),
        };
        format!("[endpoints.{tool}]\nurl = '{url}{base}'\nallow_private = true\n{token}")
    }
}

impl Drop for Provider {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

async fn answer(
    State(seen): State<Arc<Mutex<Vec<SeenRequest>>>>,
    request: Request,
) -> axum::Json<Value> {
    let (parts, body) = request.into_parts();
    let body = axum::body::to_bytes(body, usize::MAX).await.unwrap();
    if parts.uri.path() == "/token" {
        return axum::Json(json!({ "access_token": "t0ken", "expires_in": 3600 }));
    }
    seen.lock().unwrap().push(SeenRequest {
        line: format!("{} {}", parts.method, parts.uri),
        headers: parts.headers,
        body: String::from_utf8(body.to_vec()).unwrap(),
    });
    axum::Json(json!({}))
}

/// A call, and the request that must reach the provider: request line, headers and body.
struct Sent {
    tool: &'static str,
    arguments: Value,
    line: &'static str,
    headers: &'static [(&'static str, &'static str)],
    body: Value,
}

const LOGIN: [&str; 3] = [
    "client_id=app",
    "client_secret=s3cret",
    "refresh_token=again",
];

#[tokio::test]
async fn calls_become_the_requests_that_the_providers_describe() {
    let provider = Provider::start().await;
    let config = [
        provider.endpoint("gamma", "/v1.0", false),
        provider.endpoint("linkedin-ads", "/rest", true),
        provider.endpoint("microsoft-ads", "/CampaignManagement/v13", true),
        provider.endpoint("microsoft-ads-reports", "/Reporting/v13", true),
        provider.endpoint("microsoft-calendar", "/v1.0/me", true),
    ];
    let home = Home::new(&config.concat());
    let bing = ["developer_token=dev", "customer_id=11", "account_id=22"];
    for (credential, fields) in [
        ("gamma", vec!["key=g-key"]),
        ("linkedin-ads", [&LOGIN[..], &["account_id=33"]].concat()),
        ("microsoft-ads", [&LOGIN[..], &bing].concat()),
        ("microsoft-calendar", LOGIN.to_vec()),
    ] {
        let words = [&["secret", "set", credential], &fields[..]].concat();
        let output = home.kitbag(&words).await;
        assert_eq!(output.code, Some(0), "{output:?}");
    }
    let gateway = home.serve().await;
    let client = gateway.client_at("/mcp/all", Era::Modern).connect().await;
    client.knows("microsoft_calendar").await;
    for sent in calls() {
        client.knows(sent.tool).await;
        let output = text(&client, sent.tool, &sent.arguments).await;
        let seen = provider.seen.lock().unwrap().pop();
        let seen = seen.unwrap_or_else(|| panic!("{} sent nothing: {output}", sent.tool));
        assert_eq!(seen.line, sent.line, "{}", sent.tool);
        for (name, value) in sent.headers {
            assert_eq!(seen.headers[*name], *value, "{} {name}", sent.tool);
        }
        let body: Value = serde_json::from_str(&seen.body).unwrap_or_default();
        assert_eq!(body, sent.body, "{}", sent.tool);
    }
}

fn calls() -> Vec<Sent> {
    let day = |day: u8| json!({ "year": 2026, "month": 10, "day": day });
    let at = |time: &str| json!({ "dateTime": time, "timeZone": "UTC" });
    vec![
        Sent {
            tool: "gamma",
            arguments: json!({ "action": "generate", "text": "Why tests matter", "cards": 6, "export_as": "pdf" }),
            line: "POST /v1.0/generations",
            headers: &[("x-api-key", "g-key")],
            body: json!({
                "inputText": "Why tests matter", "textMode": "generate", "format": "presentation",
                "numCards": 6, "exportAs": "pdf",
            }),
        },
        Sent {
            tool: "linkedin_ads",
            arguments: json!({ "action": "report", "from": day(1), "to": day(31) }),
            line: "GET /rest/adAnalytics?q=analytics&pivot=CAMPAIGN&timeGranularity=ALL\
                   &dateRange=(start:(year:2026,month:10,day:1),end:(year:2026,month:10,day:31))\
                   &accounts=List(urn%3Ali%3AsponsoredAccount%3A33)\
                   &fields=pivotValues,dateRange,impressions,clicks,landingPageClicks,costInLocalCurrency,\
                   costInUsd,externalWebsiteConversions,oneClickLeads",
            headers: &[
                ("authorization", "Bearer t0ken"),
                ("linkedin-version", "202607"),
                ("x-restli-protocol-version", "2.0.0"),
            ],
            body: Value::Null,
        },
        Sent {
            tool: "linkedin_ads",
            arguments: json!({ "action": "update_campaign", "campaign": "44", "changes": { "status": "PAUSED" } }),
            line: "POST /rest/adAccounts/33/adCampaigns/44",
            headers: &[("x-restli-method", "PARTIAL_UPDATE")],
            body: json!({ "patch": { "$set": { "status": "PAUSED" } } }),
        },
        Sent {
            tool: "microsoft_ads",
            arguments: json!({ "action": "update_campaigns", "campaigns": [{ "Id": "4211", "Status": "Paused" }] }),
            line: "PUT /CampaignManagement/v13/Campaigns",
            headers: &[
                ("authorization", "Bearer t0ken"),
                ("developertoken", "dev"),
                ("customerid", "11"),
                ("customeraccountid", "22"),
            ],
            body: json!({ "AccountId": "22", "Campaigns": [{ "Id": "4211", "Status": "Paused" }] }),
        },
        Sent {
            tool: "microsoft_ads_reports",
            arguments: json!({ "action": "request", "columns": ["CampaignName", "Spend"], "period": "LastMonth" }),
            line: "POST /Reporting/v13/GenerateReport/Submit",
            headers: &[("customeraccountid", "22")],
            body: json!({ "ReportRequest": {
                "Type": "CampaignPerformanceReportRequest", "Format": "Csv", "ExcludeReportHeader": true,
                "ExcludeReportFooter": true, "ReturnOnlyCompleteData": false, "Aggregation": "Summary",
                "Columns": ["CampaignName", "Spend"], "Scope": { "AccountIds": ["22"] },
                "Time": { "PredefinedTime": "LastMonth" },
            } }),
        },
        Sent {
            tool: "microsoft_calendar",
            arguments: json!({
                "action": "events", "from": "2026-11-20T00:00:00Z", "to": "2026-11-21T00:00:00Z",
                "fields": ["subject", "start"], "time_zone": "Europe/Berlin",
            }),
            line: "GET /v1.0/me/calendarView?startDateTime=2026-11-20T00%3A00%3A00Z\
                   &endDateTime=2026-11-21T00%3A00%3A00Z&%24top=50&%24orderby=start%2FdateTime\
                   &%24select=subject%2Cstart",
            headers: &[("prefer", "outlook.timezone=\"Europe/Berlin\"")],
            body: Value::Null,
        },
        Sent {
            tool: "microsoft_calendar",
            arguments: json!({
                "action": "create", "subject": "Review", "start": at("2026-11-20T10:00:00"),
                "end": at("2026-11-20T10:30:00"),
                "attendees": [{ "emailAddress": { "address": "ann@shop.example" } }],
            }),
            line: "POST /v1.0/me/events",
            headers: &[("authorization", "Bearer t0ken")],
            body: json!({
                "subject": "Review", "start": at("2026-11-20T10:00:00"), "end": at("2026-11-20T10:30:00"),
                "attendees": [{ "emailAddress": { "address": "ann@shop.example" } }],
            }),
        },
        Sent {
            tool: "microsoft_calendar",
            arguments: json!({ "action": "respond", "id": "AAMk=", "answer": "decline" }),
            line: "POST /v1.0/me/events/AAMk%3D/decline",
            headers: &[("authorization", "Bearer t0ken")],
            body: json!({ "sendResponse": true }),
        },
    ]
}
