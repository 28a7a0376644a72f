// Reads the profile of the person in Figma.
// search: current figma user
const user = await tools.Figma.FIGMA_GET_CURRENT_USER({});
return { id: user.id, name: user.handle, email: user.email };
