// Puts the three best pages on a subject into a document.
// search: search the web; create a google doc
const { results } = await tools.Tavily.tavily_search({ query: "Google Calendar API best practices", max_results: 5 });
const text = results.slice(0, 3).map(page => `${page.title}\n${page.url}\n`).join("\n");
const created = await tools.GoogleDocs.GOOGLEDOCS_CREATE_DOCUMENT({ title: "Calendar API Notes", text });
return { id: created.documentId, title: created.title };
