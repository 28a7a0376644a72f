// Finds the three most starred repositories for a name.
// search: search github repositories
const { items } = await tools.GitHub.search_repositories({ query: "mcp-server-sqlite", sort: "stars", perPage: 20 });
return items.slice(0, 3).map(repo => ({
  name: repo.full_name, stars: repo.stargazers_count, description: repo.description,
}));
