// Asks the calendar what time it is.
// search: current date and time
return await tools.GoogleCalendar.GOOGLECALENDAR_GET_CURRENT_DATE_TIME({ timezone: 0 });
