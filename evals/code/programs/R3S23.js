// Lists the comments on a Figma file.
// search: comments in a figma file
const { comments } = await tools.Figma.FIGMA_GET_COMMENTS_IN_A_FILE({ file_key: "T3lhb4UthzEXNtMySEySWZ" });
return comments.map(it => ({ author: it.user.handle, message: it.message }));
