import { Marked } from 'marked';
import type { FromThread } from './ask-thread.ts';
import { cellsAtMost, elementsAtMost } from './markup-cost.ts';

/** More of them the page would take seconds to make, to look through and to lay out, and it can be asked nothing meanwhile. */
const MAX_ELEMENTS = 100_000;

const tell = (message: FromThread<string | undefined>) => postMessage(message);

const written: string[] = [];
const marking = new Marked({
  renderer: {
    // Fields are taken out later: what is done and what is not is said by signs.
    checkbox: ({ checked }) => (checked ? '☑ ' : '☐ '),
    html({ text }) {
      written.push(text);
      return text;
    },
  },
});

function marked(text: string): string | undefined {
  const html = marking.parse(text, { gfm: true, async: false });
  return elementsAtMost(html, written.join('\n')) <= MAX_ELEMENTS ? html : undefined;
}

addEventListener('message', ({ data }: MessageEvent<string>) => {
  tell({ answer: cellsAtMost(data) <= MAX_ELEMENTS ? marked(data) : undefined });
});
tell('ready');
