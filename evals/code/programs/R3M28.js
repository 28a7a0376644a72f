// Puts the components of a Figma file into a new spreadsheet.
// search: components of a figma file; create a google spreadsheet; write values to a sheet
const [{ meta }, sheet] = await Promise.all([
  tools.Figma.FIGMA_GET_FILE_COMPONENTS({ file_key: "T3lhb4UthzEXNtMySEySWZ" }),
  tools.GoogleSheets.create_spreadsheet({ title: "Figma Components" }),
]);
const rows = meta.components.map(component => [component.name, component.node_id]);
await tools.GoogleSheets.batch_update_spreadsheet({
  spreadsheet_id: sheet.spreadsheetId, sheet_name: "Sheet1", first_cell_location: "A1",
  values: [["Component Name", "Component ID"], ...rows],
});
return { url: sheet.spreadsheetUrl, rows: rows.length };
