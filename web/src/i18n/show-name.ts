/**
 * Signs that nobody sees and that show what stands around them otherwise, or nowhere: other directions, no width, commands. Space and line ends are seen, and
 * what joins letters and signs, or says how they look, belongs to them.
 */
const UNSEEN = /[[\p{Cc}\p{Default_Ignorable_Code_Point}\ufff9-\ufffb]--[\t-\r\u200c\u200d\ufe00-\ufe0f\u{e0020}-\u{e007f}]]/gv;

/** A name that somebody else gave, as it is shown: `photo\u202egpj.exe` does not look like `photoexe.jpg`, nor a name like another one. */
export const showName = (name: string): string => name.replace(UNSEEN, '\ufffd');
