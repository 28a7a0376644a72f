// Adds an event in words, and finds it on its day.
// search: quick add a calendar event; list upcoming calendar events
const added = await tools.GoogleCalendar.GOOGLECALENDAR_QUICK_ADD({
  calendar_id: "primary", text: "Team standup tomorrow at 10am",
});
const day = added.start.dateTime.slice(0, 10);
const { items } = await tools.GoogleCalendar.GOOGLECALENDAR_EVENTS_LIST({
  calendarId: "primary", timeMin: `${day}T00:00:00Z`, timeMax: `${day}T23:59:59Z`, singleEvents: true,
});
const found = items.find(it => it.id === added.id || it.summary === added.summary);
return { added: added.htmlLink, confirmed: Boolean(found), start: added.start.dateTime };
