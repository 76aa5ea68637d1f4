import { afterAll, expect, it, vi } from 'vitest';

vi.stubGlobal('localStorage', { getItem: () => null });
vi.stubGlobal('addEventListener', () => undefined);
const { MAX_BYTES, readText } = await import('./read-text.ts');

afterAll(() => void vi.unstubAllGlobals());

/** A place of bytes that answers a range so, and what has none so. */
function serve(ranged: () => Response, whole: () => Response): void {
  const answer = async (_address: unknown, init: RequestInit = {}) => (new Headers(init.headers).has('Range') ? ranged() : whole());
  vi.stubGlobal('fetch', answer);
}
const refused = () => new Response('no', { status: 416, headers: { 'Content-Range': 'bytes */0', ETag: '"1-0"' } });
const never = () => {
  throw new Error('nobody asks');
};
/** A content that comes in pieces, of which no more are made than are taken. */
function inPieces(pieces: number, headers: Record<string, string> = {}) {
  let made = 0;
  const pull = (controller: ReadableStreamDefaultController<Uint8Array>) => {
    made += 1;
    if (made > pieces) controller.close();
    else controller.enqueue(new Uint8Array(500_000).fill(0x61));
  };
  return { answer: () => new Response(new ReadableStream({ pull }, { highWaterMark: 0 }), { headers }), made: () => made };
}

it('a range that is refused says nothing of what is in a file: it is asked for whole', async () => {
  serve(refused, () => new Response('a year of notes'));
  expect(await readText('/f')).toMatchObject({ text: 'a year of notes', isWhole: true, etag: '' });
  serve(refused, () => new Response('', { headers: { ETag: '"1-0"' } }));
  expect(await readText('/f')).toMatchObject({ text: '', isWhole: true, etag: '"1-0"' });
  serve(refused, () => new Response('away\n', { status: 502, headers: { 'X-Error-Code': 'STORAGE_UNAVAILABLE' } }));
  await expect(readText('/f')).rejects.toMatchObject({ code: 502, error: 'STORAGE_UNAVAILABLE', message: 'away' });
});

it('of a file whose size nobody tells no more is taken than is shown', async () => {
  const long = inPieces(1_000);
  serve(long.answer, never);
  const { text, isWhole } = await readText('/f');
  expect([text.length, isWhole]).toEqual([MAX_BYTES, false]);
  expect(long.made()).toBeLessThan(10);
  serve(inPieces(4).answer, never);
  expect((await readText('/f')).isWhole).toBe(true);
});

it.each([
  ['tells that there is more', 5, { 'Content-Range': 'bytes 0-4/2000001' }, false],
  ['is all', 5, { 'Content-Range': 'bytes 0-4/5' }, true],
  ['does not tell, and is short', 5, {}, true],
  ['does not tell, and is as long as may be', MAX_BYTES, {}, false],
])('a range that %s', async (_, bytes, headers, isWhole) => {
  serve(() => new Response('x'.repeat(bytes), { status: 206, headers: new Headers(Object.entries(headers)) }), never);
  expect((await readText('/f')).isWhole).toBe(isWhole);
});
