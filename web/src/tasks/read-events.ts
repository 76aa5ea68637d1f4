/** Server-sent events as they come (https://html.spec.whatwg.org/multipage/server-sent-events.html); comments are left out. */
export async function* readEvents(body: AsyncIterable<Uint8Array>): AsyncGenerator<{ name: string; data: string }, void> {
  const decoder = new TextDecoder();
  /** Of the event that has not come to its end. A text that grows would be copied, and looked through, with each piece of it. */
  let begun: string[] = [];
  let held = '';
  for await (const chunk of body) {
    const text = held + decoder.decode(chunk, { stream: true });
    // An end may be cut in two.
    held = text.endsWith('\n') && !text.endsWith('\n\n') ? '\n' : '';
    const [rest = '', ...others] = text.slice(0, text.length - held.length).split('\n\n');
    begun.push(rest);
    for (const next of others) {
      const event = parseEvent(begun.join(''));
      begun = [next];
      if (event) yield event;
    }
  }
}

function parseEvent(text: string): { name: string; data: string } | undefined {
  const lines = text.split('\n');
  const of = (field: string) =>
    lines.filter((line) => line.startsWith(`${field}:`)).map((line) => line.slice(field.length + 1).trimStart());
  const data = of('data');
  return data.length > 0 ? { name: of('event')[0] ?? 'message', data: data.join('\n') } : undefined;
}
