// Lists the stages that a contact in Apollo can be in.
// search: apollo contact stages
const { contact_stages } = await tools.Apollo.list_contact_stages({});
return contact_stages.map(stage => ({ id: stage.id, name: stage.display_name }));
