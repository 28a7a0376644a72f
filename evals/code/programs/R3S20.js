// Lists the meetings that were booked in Calendly and are still to come.
// search: get calendly user; list scheduled calendly events
const { resource } = await tools.Calendly.CALENDLY_GET_USER({ uuid: "me" });
const { collection } = await tools.Calendly.CALENDLY_LIST_SCHEDULED_EVENTS({
  user: resource.uri, status: "active", min_start_time: new Date().toISOString(), sort: "start_time:asc",
});
return collection.map(event => ({ name: event.name, start: event.start_time }));
