// Writes the members of the organization in Calendly to a file.
// search: get calendly user; list calendly organization memberships; write a file
const { resource } = await tools.Calendly.CALENDLY_GET_USER({ uuid: "me" });
const { collection } = await tools.Calendly.CALENDLY_LIST_ORGANIZATION_MEMBERSHIPS({
  organization: resource.current_organization,
});
const lines = collection.map(member => `${member.user.name} | ${member.user.email} | ${member.role}`);
await tools.FileSystem.write_file({ path: "calendly_org.txt", content: lines.join("\n") });
return { written: "calendly_org.txt", members: lines.length };
