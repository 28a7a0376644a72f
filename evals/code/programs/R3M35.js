// Lists five issues of a repository on a subject.
// search: search github issues
const { items } = await tools.GitHub.search_issues({
  query: "transport repo:modelcontextprotocol/specification is:issue", perPage: 10,
});
return items.slice(0, 5).map(issue => ({ title: issue.title, state: issue.state }));
