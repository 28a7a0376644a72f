//! Turns a request into its answer, the same for a command that has joined and for one that works
//! on its own.

use tokio_util::sync::CancellationToken;

use super::offers;
use super::protocol::{Answer, Progress, Request};
use crate::app::App;

/// The events beside a request: progress and cancellation.
pub(crate) struct Meanwhile<'a> {
    /// The function that gets the progress that a server reports.
    pub(crate) progress: &'a mut (dyn FnMut(Progress) + Send),
    /// The token is cancelled when the caller does not want the answer any more.
    pub(crate) cancelled: CancellationToken,
}

impl<'a> Meanwhile<'a> {
    /// Makes the value for a request that is always seen to its end.
    pub(crate) fn to_its_end(progress: &'a mut (dyn FnMut(Progress) + Send)) -> Self {
        Self {
            progress,
            cancelled: CancellationToken::new(),
        }
    }
}

pub(crate) async fn answer(
    app: &App,
    request: Request,
    meanwhile: Meanwhile<'_>,
) -> anyhow::Result<Answer> {
    Ok(match request {
        Request::Know { server } => {
            let silent = app.know(server.as_ref()).await;
            Answer::Silent(silent.iter().map(ToString::to_string).collect())
        }
        Request::Tools => Answer::Tools(app.tools()),
        Request::Definition { name } => Answer::Definition(app.definition(&name)),
        Request::Prompts => Answer::Prompts(app.prompts()),
        Request::Prompt { name, arguments } => {
            Answer::Result(offers::prompt(app, &name, &arguments, meanwhile).await?)
        }
        Request::Resources => Answer::Resources(app.resources()),
        Request::Read { uri } => Answer::Result(offers::read(app, &uri, meanwhile).await?),
        Request::Search { intent, options } => Answer::Found(app.search(&intent, &options).await?),
        Request::Tokens { surface } => Answer::Tokens(app.tokens(surface).await),
        Request::Call { name, arguments } => {
            Answer::Result(app.call(&name, arguments, meanwhile).await?)
        }
        Request::Restart { server } => Answer::Restarted(app.restart(&server).await?),
        Request::Status => Answer::Status(app.status()),
    })
}
