// Puts the events of the coming week into a new spreadsheet.
// search: list upcoming calendar events; create a google spreadsheet; write values to a sheet
const now = Date.now();
const week = 7 * 24 * 3600 * 1000;
const [{ items }, sheet] = await Promise.all([
  tools.GoogleCalendar.GOOGLECALENDAR_EVENTS_LIST({
    calendarId: "primary", timeMin: new Date(now).toISOString(), timeMax: new Date(now + week).toISOString(),
    singleEvents: true, orderBy: "startTime",
  }),
  tools.GoogleSheets.create_spreadsheet({ title: "Weekly Calendar Export" }),
]);
const time = moment => moment.dateTime ?? moment.date;
const rows = items.map(it => [it.summary, time(it.start).slice(0, 10), time(it.start).slice(11), time(it.end).slice(11)]);
await tools.GoogleSheets.batch_update_spreadsheet({
  spreadsheet_id: sheet.spreadsheetId, sheet_name: "Sheet1", first_cell_location: "A1",
  values: [["Event Title", "Date", "Start Time", "End Time"], ...rows],
});
return { url: sheet.spreadsheetUrl, rows: rows.length };
