// Reads the settings of the calendar.
// search: google calendar settings
const { items } = await tools.GoogleCalendar.GOOGLECALENDAR_SETTINGS_LIST({});
return Object.fromEntries(items.map(setting => [setting.id, setting.value]));
