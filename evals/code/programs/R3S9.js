// Finds pages in Notion by a word.
// search: search notion pages
const { results } = await tools.Notion.notion_search({ query: "meeting", query_type: "internal" });
return results.filter(found => found.type === "page").map(page => page.title);
