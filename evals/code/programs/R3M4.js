// Stores the three best pages on a subject in a table.
// search: search the web; run an sql query
const { results } = await tools.Tavily.tavily_search({ query: "Starlark programming language", max_results: 5 });
const best = results.slice(0, 3);
await tools.SQLite.query({ sql: "CREATE TABLE IF NOT EXISTS search_results (title TEXT, url TEXT)" });
await Promise.all(best.map(page => tools.SQLite.query({
  sql: "INSERT INTO search_results VALUES (?, ?)", values: [page.title, page.url],
})));
return { stored: best.length };
