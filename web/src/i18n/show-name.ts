/** Signs that nobody sees and that show what stands around them otherwise, or nowhere: other directions, no width, commands. Space and line ends are seen. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are some of them.
const UNSEEN = /[\0-\x08\x0e-\x1f\x7f-\x9f\u00ad\u200b\u202a-\u202e\u2060-\u2069\ufeff\ufff9-\ufffb]/g;

/** A name that somebody else gave, as it is shown: `photo\u202egpj.exe` does not look like `photoexe.jpg`, nor a name like another one. */
export const showName = (name: string): string => name.replace(UNSEEN, '\ufffd');
