/** A text without the characters of this kind at its end. The pattern `/x+$/` begins anew at each of many that are not at the end. */
export function withoutEnd(text: string, character: string): string {
  let end = text.length;
  while (end > 0 && text[end - 1] === character) end -= 1;
  return text.slice(0, end);
}
