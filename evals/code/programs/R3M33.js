// Puts the comments on a Figma file onto a page in Notion.
// search: comments in a figma file; create a notion page
const { comments } = await tools.Figma.FIGMA_GET_COMMENTS_IN_A_FILE({ file_key: "T3lhb4UthzEXNtMySEySWZ" });
const { pages } = await tools.Notion.notion_create_pages({
  pages: [{
    properties: { title: "Figma Review Comments" },
    content: comments.map(it => `- **${it.user.handle}**: ${it.message}`).join("\n"),
  }],
});
return { url: pages[0].url, comments: comments.length };
