// Stores calendars and kinds of meetings in one table.
// search: list google calendars; get calendly user; list calendly event types; run an sql query
const [calendars, user] = await Promise.all([
  tools.GoogleCalendar.GOOGLECALENDAR_LIST_CALENDARS({}),
  tools.Calendly.CALENDLY_GET_USER({ uuid: "me" }),
]);
const { collection } = await tools.Calendly.CALENDLY_LIST_EVENT_TYPES({ user: user.resource.uri });
const rows = [
  ...calendars.items.map(it => ["Google Calendar", it.summary, "calendar"]),
  ...collection.map(type => ["Calendly", type.name, "event_type"]),
];
await tools.SQLite.query({ sql: "CREATE TABLE IF NOT EXISTS scheduling_tools (platform TEXT, name TEXT, type TEXT)" });
await tools.SQLite.query({
  sql: `INSERT INTO scheduling_tools VALUES ${rows.map(() => "(?, ?, ?)").join(", ")}`, values: rows.flat(),
});
return { stored: rows.length };
