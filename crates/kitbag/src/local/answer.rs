//! Turns a request into its answer, the same for a command that has joined and for one that works
//! on its own.

use super::offers;
use super::protocol::{LocalAnswer, LocalRequest};
use kitbag_gateway::admin::app::{App, CallProgress, Meanwhile};

pub(crate) async fn answer(
    app: &App,
    request: LocalRequest,
    meanwhile: Meanwhile<'_>,
) -> anyhow::Result<LocalAnswer> {
    Ok(match request {
        LocalRequest::Know { server } => LocalAnswer::Silent(app.know(server.as_ref()).await),
        LocalRequest::Tools => LocalAnswer::Tools(app.tools()),
        LocalRequest::Definition { name } => LocalAnswer::Definition(app.definition(&name)?),
        LocalRequest::Definitions { servers } => {
            LocalAnswer::Definitions(app.definitions(&servers).await)
        }
        LocalRequest::Prompts => LocalAnswer::Prompts(app.prompts()),
        LocalRequest::Prompt { name, arguments } => {
            LocalAnswer::Result(offers::prompt(app, &name, &arguments, meanwhile).await?)
        }
        LocalRequest::Skills => LocalAnswer::Skills(app.skills()),
        LocalRequest::Resources => LocalAnswer::Resources(app.resources()),
        LocalRequest::Read { uri } => {
            LocalAnswer::Result(offers::read(app, &uri, meanwhile).await?)
        }
        LocalRequest::Search { intent, options } => {
            let embedded = |done: usize, total: usize| {
                (meanwhile.progress)(CallProgress {
                    progress: done as f64,
                    total: Some(total as f64),
                    message: None,
                });
            };
            LocalAnswer::Found(app.search(&intent, &options, embedded).await?)
        }
        LocalRequest::Tokens { surface } => LocalAnswer::Tokens(app.tokens(surface).await),
        LocalRequest::Call { name, arguments } => {
            LocalAnswer::Result(app.call(&name, arguments, meanwhile).await?)
        }
        LocalRequest::Restart { server } => LocalAnswer::Restarted(app.restart(&server).await?),
        LocalRequest::OnSurface { tool, arguments } => {
            LocalAnswer::Result(app.on_surface(&tool, arguments, meanwhile).await?)
        }
        LocalRequest::Hear { words } => LocalAnswer::Heard(app.hear(&words).await),
        LocalRequest::Status => LocalAnswer::Status(app.status()),
        LocalRequest::Figures => LocalAnswer::Result(app.figures()),
    })
}
