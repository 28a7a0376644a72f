//! The state of a page, as its events report it, and the replies that some events require.

use serde_json::{Value, json};

#[derive(Debug, Default)]
pub(super) struct PageState {
    /// The page's own id; other pages are closed.
    pub(super) target: Option<String>,
    /// The id of its main frame.
    pub(super) frame: Option<String>,
    /// The id of the document in it, which changes when the page navigates.
    document: Option<String>,
    pub(super) has_loaded: bool,
    /// True if nothing has been fetched for half a second since it loaded.
    pub(super) is_idle: bool,
    /// True if its process crashed, or it closed itself.
    pub(super) is_gone: bool,
}

/// A request that an event requires, whose answer does not matter.
#[derive(Debug, PartialEq)]
pub(super) struct Reply {
    pub(super) method: &'static str,
    pub(super) params: Value,
}

impl PageState {
    pub(super) fn handle_event(&mut self, event: &str, params: &Value) -> Option<Reply> {
        match event {
            "Page.lifecycleEvent" if self.is_of_main_frame(params) => self.handle_lifecycle(params),
            "Inspector.targetCrashed" => self.is_gone = true,
            "Target.targetDestroyed" if self.is_target(&params["targetId"]) => self.is_gone = true,
            "Page.javascriptDialogOpening" => return Some(dismiss_dialog()),
            "Target.targetCreated" => return self.close_popup(&params["targetInfo"]),
            _ => {}
        }
        None
    }

    fn is_of_main_frame(&self, params: &Value) -> bool {
        self.frame.is_some() && params["frameId"].as_str() == self.frame.as_deref()
    }

    fn handle_lifecycle(&mut self, params: &Value) {
        let document = params["loaderId"].as_str();
        let is_this = self.document.as_deref() == document;
        match params["name"].as_str() {
            Some("init") => self.begin_document(document),
            Some("load") if is_this => self.has_loaded = true,
            Some("networkIdle") if is_this => self.is_idle = true,
            _ => {}
        }
    }

    /// Forgets the previous document.
    pub(super) fn begin_document(&mut self, document: Option<&str>) {
        self.document = document.map(str::to_owned);
        (self.has_loaded, self.is_idle) = (false, false);
    }

    fn is_target(&self, id: &Value) -> bool {
        self.target.is_some() && id.as_str() == self.target.as_deref()
    }

    fn close_popup(&self, info: &Value) -> Option<Reply> {
        let is_ours = self.target.is_none() || self.is_target(&info["targetId"]);
        let is_popup = info["type"] == "page" && info["openerId"].is_string();
        (is_popup && !is_ours).then(|| Reply {
            method: "Target.closeTarget",
            params: json!({ "targetId": info["targetId"] }),
        })
    }
}

fn dismiss_dialog() -> Reply {
    Reply {
        method: "Page.handleJavaScriptDialog",
        params: json!({ "accept": false }),
    }
}
