// Creates an issue in the first team.
// search: list linear teams; create a linear issue
const { teams } = await tools.Linear.get_teams({});
const issue = await tools.Linear.create_linear_issue({
  team_id: teams[0].id,
  title: "R3 Benchmark: Track new server coverage",
  description: "Ensure all 16 MCP servers are exercised in Round 3 benchmarks.",
});
return { id: issue.identifier, url: issue.url, team: teams[0].name };
