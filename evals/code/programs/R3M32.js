// Writes the events of two calendars to one file, by date.
// search: list upcoming calendar events; get calendly user; list scheduled calendly events; write a file
const now = new Date().toISOString();
const end = new Date(Date.now() + 7 * 24 * 3600 * 1000).toISOString();
const { resource } = await tools.Calendly.CALENDLY_GET_USER({ uuid: "me" });
const [google, calendly] = await Promise.all([
  tools.GoogleCalendar.GOOGLECALENDAR_EVENTS_LIST({
    calendarId: "primary", timeMin: now, timeMax: end, singleEvents: true, orderBy: "startTime",
  }),
  tools.Calendly.CALENDLY_LIST_SCHEDULED_EVENTS({ user: resource.uri, min_start_time: now, max_start_time: end }),
]);
const events = [
  ...google.items.map(it => ({ start: it.start.dateTime ?? it.start.date, name: it.summary, from: "Google" })),
  ...calendly.collection.map(it => ({ start: it.start_time, name: it.name, from: "Calendly" })),
].sort((a, b) => a.start.localeCompare(b.start));
const lines = events.map(it => `${it.start} ${it.name} (${it.from})`);
await tools.FileSystem.write_file({ path: "combined_schedule.txt", content: lines.join("\n") });
return { written: "combined_schedule.txt", events: lines.length };
