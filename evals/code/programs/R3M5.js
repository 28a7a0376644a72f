// Stores five repositories in a table.
// search: search github repositories; run an sql query
const { items } = await tools.GitHub.search_repositories({ query: "mcp-server", sort: "stars", perPage: 20 });
const best = items.slice(0, 5);
await tools.SQLite.query({
  sql: "CREATE TABLE IF NOT EXISTS github_repos (name TEXT, description TEXT, stars INTEGER, url TEXT)",
});
await tools.SQLite.query({
  sql: `INSERT INTO github_repos VALUES ${best.map(() => "(?, ?, ?, ?)").join(", ")}`,
  values: best.flatMap(repo => [repo.full_name, repo.description, repo.stargazers_count, repo.html_url]),
});
return best.map(repo => repo.full_name);
