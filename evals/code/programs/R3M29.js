// Stores what two services offer in one table.
// search: get calendly user; list calendly event types; list linear teams; run an sql query
const { resource } = await tools.Calendly.CALENDLY_GET_USER({ uuid: "me" });
const [{ collection }, { teams }] = await Promise.all([
  tools.Calendly.CALENDLY_LIST_EVENT_TYPES({ user: resource.uri }),
  tools.Linear.get_teams({}),
]);
const rows = [
  ...collection.map(type => ["Calendly", type.name, "event_type"]),
  ...teams.map(team => ["Linear", team.name, "team"]),
];
await tools.SQLite.query({
  sql: "CREATE TABLE IF NOT EXISTS service_inventory (service TEXT, item_name TEXT, item_type TEXT)",
});
await tools.SQLite.query({
  sql: `INSERT INTO service_inventory VALUES ${rows.map(() => "(?, ?, ?)").join(", ")}`, values: rows.flat(),
});
return { event_types: collection.length, teams: teams.length };
