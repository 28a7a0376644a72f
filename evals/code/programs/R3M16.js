// Writes the booked meetings of Calendly to a file.
// search: get calendly user; list scheduled calendly events; write a file
const { resource } = await tools.Calendly.CALENDLY_GET_USER({ uuid: "me" });
const { collection } = await tools.Calendly.CALENDLY_LIST_SCHEDULED_EVENTS({
  user: resource.uri, min_start_time: new Date().toISOString(), sort: "start_time:asc",
});
const lines = collection.map(event => `${event.name} | ${event.start_time} | ${event.status}`);
await tools.FileSystem.write_file({ path: "calendly_upcoming.txt", content: lines.join("\n") });
return { written: "calendly_upcoming.txt", events: lines.length };
