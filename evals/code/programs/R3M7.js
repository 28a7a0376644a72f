// Creates a page in Notion.
// search: create a notion page
const { pages } = await tools.Notion.notion_create_pages({
  pages: [{
    properties: { title: "R3 Benchmark Notes" },
    content: "Round 3 benchmark with 500+ tools across 16 MCP servers. Testing token reduction at scale.",
  }],
});
return pages.map(page => page.url);
