/** Ids of drafts are made by us: 32 hexadecimal digits. */
const DRAFT_ID = /^[0-9a-f]{32}$/;

export function isDraftId(text: string): boolean {
  return DRAFT_ID.test(text);
}
