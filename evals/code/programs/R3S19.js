// Lists the kinds of meetings that can be booked in Calendly.
// search: get calendly user; list calendly event types
const { resource } = await tools.Calendly.CALENDLY_GET_USER({ uuid: "me" });
const { collection } = await tools.Calendly.CALENDLY_LIST_EVENT_TYPES({ user: resource.uri });
return collection.map(type => ({ name: type.name, minutes: type.duration }));
