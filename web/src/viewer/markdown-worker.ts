import { Marked } from 'marked';

/** What the thread tells: that it has begun, and then what it made of the one text that it was sent. */
export type FromMarkdownThread = 'ready' | { readonly html: string };

const tell = (message: FromMarkdownThread) => postMessage(message);

// Fields are taken out later: what is done and what is not is said by signs.
const marking = new Marked({ renderer: { checkbox: ({ checked }) => (checked ? '☑ ' : '☐ ') } });

addEventListener('message', ({ data }: MessageEvent<string>) => tell({ html: marking.parse(data, { gfm: true, async: false }) }));
tell('ready');
