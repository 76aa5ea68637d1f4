import { afterAll, expect, it, vi } from 'vitest';

vi.stubGlobal('localStorage', { getItem: () => null });
vi.stubGlobal('addEventListener', () => undefined);
const { readPart } = await import('./read-part.ts');
const { readPhotoFacts } = await import('./photo-facts.ts');

afterAll(() => void vi.unstubAllGlobals());

const FILE = 'abcdefghij';
/** A file whose place has no ranges, in pieces of four bytes; of its size it says nothing. */
function serveWhole(pieces = ['abcd', 'efgh', 'ij']): { made: () => number } {
  let made = 0;
  const pull = (controller: ReadableStreamDefaultController<Uint8Array>) => {
    const piece = pieces[made];
    made += 1;
    if (piece === undefined) controller.close();
    else controller.enqueue(new TextEncoder().encode(piece));
  };
  vi.stubGlobal('fetch', async () => new Response(new ReadableStream({ pull }, { highWaterMark: 0 })));
  return { made: () => made };
}
const shown = async (from: number, most: number) => {
  const { bytes, ...rest } = await readPart('/f', from, most);
  return [new TextDecoder().decode(bytes), rest.size, rest.isLast];
};

it.each([
  [0, 4, 'abcd', undefined, false],
  [3, 4, 'defg', undefined, false],
  [6, 4, 'ghij', 10, true],
  [8, 4, 'ij', 10, true],
  [12, 4, '', 10, true],
])('of what has no ranges a stretch is taken, from %i on %i bytes', async (from, most, text, size, isLast) => {
  serveWhole();
  expect(await shown(from, most)).toEqual([text, size, isLast]);
});

it('of a picture without ranges no more is taken than what a camera wrote at its begin', async () => {
  const { made } = serveWhole(Array.from({ length: 1_000 }, () => 'x'.repeat(100_000)));
  await readPhotoFacts('/f');
  expect(made()).toBeLessThan(10);
});

it('a range tells the size, also one that is behind the end', async () => {
  const part = (text: string, status: number, range: string) =>
    vi.stubGlobal('fetch', async () => new Response(text, { status, headers: { 'Content-Range': range } }));
  part(FILE.slice(2, 6), 206, 'bytes 2-5/10');
  expect(await shown(2, 4)).toEqual(['cdef', 10, false]);
  part(FILE.slice(6), 206, 'bytes 6-9/10');
  expect(await shown(6, 4)).toEqual(['ghij', 10, true]);
  part('no', 416, 'bytes */10');
  expect(await shown(10, 4)).toEqual(['', 10, true]);
});
