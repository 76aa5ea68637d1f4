import { Marked } from 'marked';
import type { FromThread } from './ask-thread.ts';
import { elementsAtMost } from './markup-cost.ts';

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

addEventListener('message', ({ data }: MessageEvent<string>) => {
  const html = marking.parse(data, { gfm: true, async: false });
  tell({ answer: elementsAtMost(html, written.join('\n')) <= MAX_ELEMENTS ? html : undefined });
});
tell('ready');
