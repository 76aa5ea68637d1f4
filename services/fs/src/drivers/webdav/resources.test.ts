import { collectGarbage } from '@wharf/pace';
import { expect, it } from 'vitest';
import { usedBytes } from '../../domain/testing/used-bytes.ts';
import { parseXml } from '../../driver-contract/xml.ts';
import { readResponse } from './resources.ts';

it('what is kept of an answer does not keep the blanks around it (C18)', async () => {
  const answer = Buffer.from(
    `<response xmlns="DAV:"><href>/a%20long%20name.txt</href><propstat><prop><getetag>${' '.repeat(60_000)}a long enough tag</getetag></prop><status>HTTP/1.1 200 OK</status></propstat></response>`,
  );
  async function* pieces() {
    yield answer;
  }
  collectGarbage('regular');
  const before = usedBytes();
  const kept = [];
  for (let each = 0; each < 500; each += 1) kept.push(readResponse(await parseXml(pieces(), 100_000)).resource?.version);
  collectGarbage('regular');
  expect(new Set(kept)).toEqual(new Set(['a long enough tag']));
  // All of them were 30 MB.
  expect(usedBytes() - before).toBeLessThan(4 * 1024 * 1024);
});
