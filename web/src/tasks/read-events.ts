/** Server-sent events as they come (https://html.spec.whatwg.org/multipage/server-sent-events.html); comments are left out. */
export async function* readEvents(body: AsyncIterable<Uint8Array>): AsyncGenerator<{ name: string; data: string }, void> {
  const decoder = new TextDecoder();
  let kept = '';
  for await (const chunk of body) {
    // An end may be cut in two.
    let from = Math.max(0, kept.length - 1);
    kept += decoder.decode(chunk, { stream: true });
    for (let end = kept.indexOf('\n\n', from); end >= 0; end = kept.indexOf('\n\n')) {
      const event = parseEvent(kept.slice(0, end));
      kept = kept.slice(end + 2);
      from = 0;
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
