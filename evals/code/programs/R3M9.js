// Writes the events of the coming week to a file.
// search: list upcoming calendar events; write a file
const now = Date.now();
const week = 7 * 24 * 3600 * 1000;
const { items } = await tools.GoogleCalendar.GOOGLECALENDAR_EVENTS_LIST({
  calendarId: "primary", timeMin: new Date(now).toISOString(), timeMax: new Date(now + week).toISOString(),
  singleEvents: true, orderBy: "startTime",
});
const time = moment => moment.dateTime ?? moment.date;
const lines = items.map(it => `${it.summary}: ${time(it.start)} to ${time(it.end)}`);
await tools.FileSystem.write_file({ path: "calendar_events.txt", content: lines.join("\n") });
return { written: "calendar_events.txt", events: lines.length };
