import { createHash } from 'node:crypto';
import type { Pace } from '@wharf/pace';
import { describe, expect, it } from 'vitest';
import { bencodeTokens } from './bencode.ts';
import { metalinkUrls } from './metalink.ts';
import { readTorrent } from './torrent.ts';

const MAX_ADDRESSES = 500;
const INFO = '4:infod6:pieces0:e';

/** Counts how often others could have had their turn. */
function countingPace(): Pace & { readonly steps: number } {
  let steps = 0;
  return {
    get steps() {
      return steps;
    },
    async step() {
      steps += 1;
    },
  };
}

describe('a torrent file', () => {
  const readBy = (pace: Pace, text: string) => readTorrent(Buffer.from(text), MAX_ADDRESSES, pace);

  it.each([100_000, 200_000, 400_000])('with %i tiny values in its info is walked through in slices', async (count) => {
    const pace = countingPace();
    await readBy(pace, `d4:infod1:xl${'0:'.repeat(count)}e6:pieces0:ee`);
    expect(pace.steps).toBe(count / 1_000);
  });

  it.each([
    ['values', `d4:infod6:pieces0:e1:xl${'0:'.repeat(5_000_000)}ee`, 'has too many values', 1_000],
    ['values in its info', `d4:infod1:xl${'0:'.repeat(5_000_000)}eee`, 'has too many values', 1_000],
    ['addresses', `d13:announce-listl${'0:'.repeat(5_000_000)}e${INFO}e`, 'names too many addresses', 0],
    ['addresses in deep lists', `d13:announce-listl${'ll1:aee'.repeat(1_000_000)}e${INFO}e`, 'names too many addresses', 2],
  ])('with millions of %s is read up to its bound', async (_what, text, message, steps) => {
    const pace = countingPace();
    await expect(readBy(pace, text)).rejects.toMatchObject({ code: 'CONTENT_CORRUPT', message: `the torrent file ${message}` });
    expect(pace.steps).toBe(steps);
  });

  it('is known by the bytes of its info, of which there is one', async () => {
    const pace = countingPace();
    const torrent = await readBy(pace, `d8:announce5:a b c${INFO}8:url-listl1:d1:eee`);
    expect(torrent).toEqual({
      hash: createHash('sha1').update('d6:pieces0:e').digest('hex'),
      addresses: [
        { address: 'a b c', isTracker: true },
        { address: 'd', isTracker: false },
        { address: 'e', isTracker: false },
      ],
      hasNodes: false,
    });
    const both = 'd9:file treede6:pieces0:e';
    const hashBy = (algorithm: string) => createHash(algorithm).update(both).digest('hex').slice(0, 40);
    expect(await readBy(pace, `d4:info${both}e`)).toMatchObject({ hash: hashBy('sha1'), v2Hash: hashBy('sha256') });
    await expect(readBy(pace, `d${INFO}${INFO}e`)).rejects.toMatchObject({ code: 'CONTENT_CORRUPT' });
    expect(await readBy(pace, `d${INFO}5:nodesle1:xi-7ee`)).toMatchObject({ hasNodes: false });
    expect(await readBy(pace, `d${INFO}5:nodesl0:ee`)).toMatchObject({ hasNodes: true });
  });

  it.each([
    'i-0e',
    'i01e',
    'ie',
    '01:a',
    'd1:ae',
    'di1e1:ae',
    'dlee',
    'l',
    'lee',
    'i1',
    '2:a',
    '-1:a',
    `${'l'.repeat(34)}${'e'.repeat(34)}`,
  ])('%s is not bencoded', (text) => {
    expect(() => [...bencodeTokens(Buffer.from(text))]).toThrow('not bencoded');
  });
});

describe('a metalink', () => {
  const readBy = (pace: Pace, inner: string) => metalinkUrls(`<metalink>${inner}</metalink>`, MAX_ADDRESSES, pace);
  const unusable = { code: 'CONTENT_CORRUPT' };

  it.each([
    ['an address of millions of entities', `<url>${'&amp;'.repeat(2_000_000)}</url>`, 0],
    ['millions of addresses', '<url>a</url>'.repeat(500_000), 1],
  ])('with %s is read up to its bound', async (_what, inner, steps) => {
    const pace = countingPace();
    await expect(readBy(pace, inner)).rejects.toMatchObject(unusable);
    expect(pace.steps).toBe(steps);
  });

  it.each(['doc.bin.aria2', 'in/DOC.ARIA2', `${'0a'.repeat(20)}.torrent`, `d/${'0a'.repeat(20)}.meta4`, 'a&#46;aria2'])(
    'with a file that is called as aria2 calls its own is refused: %s',
    async (name) => {
      const read = readBy(countingPace(), `<m:file name='${name}'><url>http://a.example/</url></m:file>`);
      await expect(read).rejects.toMatchObject({ ...unusable, message: expect.stringContaining('give it another name') });
      expect(await readBy(countingPace(), `<file name="${name}.txt"><url>http://a.example/</url></file>`)).toHaveLength(1);
    },
  );

  it.each(['<b/>', '<!---->'])('of many %s is read in slices', async (piece) => {
    const pace = countingPace();
    expect(await readBy(pace, `${piece.repeat(100_000)}<url>a&amp;b</url>`)).toEqual(['a&b']);
    expect(pace.steps).toBe(100);
  });
});
