/** What this browser remembers under a name; null: nothing, or it remembers nothing at all, as where its user forbade that. */
export function recall(name: string): string | null {
  try {
    return localStorage.getItem(name);
  } catch {
    return null;
  }
}

/** Remembers a text, or forgets it with null. Where the browser refuses, or has no room, it is known until the page is left. */
export function remember(name: string, text: string | null): void {
  try {
    if (text === null) localStorage.removeItem(name);
    else localStorage.setItem(name, text);
  } catch {}
}
