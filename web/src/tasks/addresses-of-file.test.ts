import { createHash } from 'node:crypto';
import { expect, it, vi } from 'vitest';
import { addressesOfFile } from './addresses-of-file.ts';

const INFO = 'd6:lengthi5e4:name7:a b.txt12:piece lengthi16384e6:pieces20:aaaaaaaaaaaaaaaaaaaae';

it('a torrent is the magnet link of its hash, with its name and its trackers', async () => {
  const torrent = `d8:announce13:http://one/an13:announce-listll13:http://one/anel12:udp://two:80ee4:info${INFO}e`;
  const hash = createHash('sha1').update(INFO).digest('hex');
  expect(await addressesOfFile(new File([torrent], 'x.torrent'))).toEqual([
    `magnet:?xt=urn:btih:${hash}&dn=a+b.txt&tr=http%3A%2F%2Fone%2Fan&tr=udp%3A%2F%2Ftwo%3A80`,
  ]);
});

it('a metalink is the best address of each of its files', async () => {
  const metalink = `<metalink><file name="a"><hash type="sha-256">x</hash><url priority="2">http://late/a</url><url priority="1"> http://first/a?x=1&amp;y=2 </url></file>
    <file name="b"><resources><url type="http" preference="10">http://ten/b</url><url preference="90">http://ninety/b</url><url>ed2k:x</url></resources></file></metalink>`;
  expect(await addressesOfFile(new File([metalink], 'x.meta4'))).toEqual(['http://first/a?x=1&y=2', 'http://ninety/b']);
});

it.each(['', 'd', 'd4:info', 'd4:infoi5', 'd4:infoi5ee', 'd999:x', 'l', 'a text'])('%j is neither', async (text) => {
  expect(await addressesOfFile(new File([text], 'x'))).toEqual([]);
});

it('lists of trackers in each other, however deep, are read once', async () => {
  const torrent = `d13:announce-list${'l'.repeat(300)}${'1:a'.repeat(300)}${'e'.repeat(300)}4:info${INFO}e`;
  const decoded = vi.spyOn(TextDecoder.prototype, 'decode');
  const [magnet = ''] = await addressesOfFile(new File([torrent], 'x.torrent'));
  expect(magnet).toMatch(/&tr=a$/);
  // Once where the torrent ends, once for its trackers, each with its length.
  expect(decoded.mock.calls.length).toBeLessThan(1_400);
  decoded.mockRestore();
});
