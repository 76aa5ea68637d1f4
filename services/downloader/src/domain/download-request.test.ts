import { expect, it } from 'vitest';
import { acceptedUrls } from './download-request.ts';

it('an address with a line break is refused: a tool would take it for two', async () => {
  const magnet = `magnet:?xt=urn:btih:${'a'.repeat(40)}`;
  const parseUrl = (text: string) => new URL(text);
  const { accepted, refusal } = await acceptedUrls(parseUrl, 'qBittorrent', [magnet, `${magnet}&dn=x\nhttp://192.0.2.1/`], {
    step: async () => {},
  });
  expect([accepted.length, refusal?.error]).toEqual([1, expect.objectContaining({ code: 'FAILED_PRECONDITION' })]);
});

it.each([250, 500, 1_000])('of %i addresses each is looked at in a step of its own', async (count) => {
  let looks = 0;
  const stretches: number[] = [];
  const step = async () => {
    stretches.push(looks);
    looks = 0;
  };
  const parseUrl = (text: string) => {
    looks += 1;
    return new URL(text);
  };
  const urls = Array.from({ length: count }, (_, index) => `http://192.0.2.1/${index}`);
  const { accepted } = await acceptedUrls(parseUrl, 'SimpleHttp', urls, { step });
  expect([accepted.length, stretches.length, Math.max(...stretches)]).toEqual([count, count, 1]);
});
