// Writes the free times of three days to a file.
// search: find free time slots in the calendar; write a file
const now = Date.now();
const { calendars } = await tools.GoogleCalendar.GOOGLECALENDAR_FIND_FREE_SLOTS({
  items: ["primary"], time_min: new Date(now).toISOString(), time_max: new Date(now + 3 * 24 * 3600 * 1000).toISOString(),
});
const lines = calendars.primary.free.map(slot => `${slot.start} to ${slot.end}`);
await tools.FileSystem.write_file({ path: "free_slots.txt", content: lines.join("\n") });
return { written: "free_slots.txt", slots: lines.length };
