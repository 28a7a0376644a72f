// Reads the profile of the person in Calendly.
// search: get calendly user profile
const { resource } = await tools.Calendly.CALENDLY_GET_USER({ uuid: "me" });
return { name: resource.name, email: resource.email, url: resource.scheduling_url };
