// Stores the events of the coming week in a table.
// search: list upcoming calendar events; run an sql query
const now = Date.now();
const week = 7 * 24 * 3600 * 1000;
const { items } = await tools.GoogleCalendar.GOOGLECALENDAR_EVENTS_LIST({
  calendarId: "primary", timeMin: new Date(now).toISOString(), timeMax: new Date(now + week).toISOString(),
  singleEvents: true, orderBy: "startTime",
});
await tools.SQLite.query({
  sql: "CREATE TABLE IF NOT EXISTS calendar_events (title TEXT, start_time TEXT, end_time TEXT, location TEXT)",
});
const time = moment => moment.dateTime ?? moment.date;
for (const it of items) {
  await tools.SQLite.query({
    sql: "INSERT INTO calendar_events VALUES (?, ?, ?, ?)",
    values: [it.summary, time(it.start), time(it.end), it.location ?? null],
  });
}
return { stored: items.length };
