// Puts the three strongest stories of the front page into a new spreadsheet.
// search: hacker news front page by points; create a google spreadsheet; write values to a sheet
const [page, sheet] = await Promise.all([
  tools.HackerNews.get_frontpage({ min_points: 100 }),
  tools.GoogleSheets.create_spreadsheet({ title: "HN Top Stories R3" }),
]);
const best = page.hits.sort((a, b) => b.points - a.points).slice(0, 3);
const rows = best.map(story => [story.title, story.points, story.url]);
await tools.GoogleSheets.batch_update_spreadsheet({
  spreadsheet_id: sheet.spreadsheetId, sheet_name: "Sheet1", first_cell_location: "A1",
  values: [["Title", "Points", "URL"], ...rows],
});
return { url: sheet.spreadsheetUrl, rows: rows.length };
