import { Marked } from 'marked';
import type { FromThread } from './ask-thread.ts';

const tell = (message: FromThread<string>) => postMessage(message);

// Fields are taken out later: what is done and what is not is said by signs.
const marking = new Marked({ renderer: { checkbox: ({ checked }) => (checked ? '☑ ' : '☐ ') } });

addEventListener('message', ({ data }: MessageEvent<string>) => tell({ answer: marking.parse(data, { gfm: true, async: false }) }));
tell('ready');
