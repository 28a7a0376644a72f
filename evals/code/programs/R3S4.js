// Finds spreadsheets by a word in their name.
// search: search google spreadsheets by name
const { spreadsheets } = await tools.GoogleSheets.search_spreadsheets({ query: "name contains 'benchmark'" });
return spreadsheets.map(sheet => ({ id: sheet.id, name: sheet.name }));
