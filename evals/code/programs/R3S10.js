// Lists the calendars, page after page.
// search: list google calendars
const calendars = [];
let page_token;
do {
  const page = await tools.GoogleCalendar.GOOGLECALENDAR_LIST_CALENDARS({ page_token });
  calendars.push(...page.items.map(it => ({ id: it.id, name: it.summary })));
  page_token = page.nextPageToken;
} while (page_token);
return calendars;
