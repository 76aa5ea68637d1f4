/** What a text is as JSON; undefined for what is none. A text of unknown size is counted before: `brokenBound`. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
