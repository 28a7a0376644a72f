// Stores the kinds of meetings of Calendly in a table.
// search: get calendly user; list calendly event types; run an sql query
const { resource } = await tools.Calendly.CALENDLY_GET_USER({ uuid: "me" });
const { collection } = await tools.Calendly.CALENDLY_LIST_EVENT_TYPES({ user: resource.uri });
await tools.SQLite.query({
  sql: "CREATE TABLE IF NOT EXISTS calendly_event_types (name TEXT, duration_minutes INTEGER, slug TEXT)",
});
await tools.SQLite.query({
  sql: `INSERT INTO calendly_event_types VALUES ${collection.map(() => "(?, ?, ?)").join(", ")}`,
  values: collection.flatMap(type => [type.name, type.duration, type.slug]),
});
return { stored: collection.length };
