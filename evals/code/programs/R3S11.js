// Lists the events of the coming week in the main calendar.
// search: list upcoming calendar events
const now = Date.now();
const week = 7 * 24 * 3600 * 1000;
const { items } = await tools.GoogleCalendar.GOOGLECALENDAR_EVENTS_LIST({
  calendarId: "primary", timeMin: new Date(now).toISOString(), timeMax: new Date(now + week).toISOString(),
  singleEvents: true, orderBy: "startTime",
});
return items.map(it => ({ title: it.summary, start: it.start.dateTime ?? it.start.date }));
