import { get, type IncomingMessage } from 'node:http';
import type { Api } from '@wharf/harness';

/** A stream of server-sent events that is being read. */
export interface EventStream {
  /** What came so far, in order. */
  readonly events: readonly { readonly name: string; readonly data: unknown }[];
  isOver(): boolean;
  close(): void;
}

/** Opens a stream as a caller. @throws Error when the answer is no stream of events */
export async function openEventStream(base: string, path: string, caller: Api, headers: Record<string, string> = {}): Promise<EventStream> {
  const authorization = caller.token === undefined ? {} : { authorization: caller.token };
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    get(new URL(path, base), { agent: false, headers: { ...authorization, ...headers } }, resolve).on('error', reject);
  });
  if (!response.headers['content-type']?.startsWith('text/event-stream')) {
    response.destroy();
    throw new Error(`${path} answered ${response.statusCode} ${response.headers['content-type']}`);
  }
  const events: { name: string; data: unknown }[] = [];
  let text = '';
  let isOver = false;
  response.setEncoding('utf8').on('data', (chunk: string) => {
    const blocks = (text + chunk).split('\n\n');
    text = blocks.pop() ?? '';
    for (const block of blocks) {
      const field = (name: string) =>
        block
          .split('\n')
          .find((line) => line.startsWith(`${name}: `))
          ?.slice(name.length + 2);
      const name = field('event');
      if (name !== undefined) events.push({ name, data: JSON.parse(field('data') ?? 'null') });
    }
  });
  response.on('error', () => {});
  response.on('close', () => {
    isOver = true;
  });
  return { events, isOver: () => isOver, close: () => response.destroy() };
}
