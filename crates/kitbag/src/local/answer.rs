//! Turns a request into its answer, the same for a command that has joined and for one that works
//! on its own.

use super::offers;
use super::protocol::{Answer, Request};
use kitbag_gateway::app::{App, Meanwhile};

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
