import { ExportConfigurationResponse } from '@wharf/proto/admin';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type Installation, openInstallation } from './installation.ts';
import { asLogin, errorOf, type Replica } from './replica.ts';

const MIB = 1024 * 1024;
/** A message between services may have as much. */
const MESSAGE_BYTES = 64 * MIB;

let installation: Installation;
let replica: Replica;

beforeAll(async () => {
  installation = await openInstallation();
  replica = await installation.open();
});
afterAll(() => installation?.close());

it('an export that waits for another one is of nobody whose login ends meanwhile', async () => {
  const first = replica.admin.exportConfiguration({ passphrase: '' }, replica.as())[Symbol.asyncIterator]();
  await first.next();
  const second = Array.fromAsync(replica.admin.exportConfiguration({ passphrase: '' }, await asLogin(replica, 'ends')));
  const refused = errorOf(second);
  await replica.models.sessions.deleteOne({ _id: 'ends' });
  await first.return?.();
  expect((await refused).code).toBe('UNAUTHENTICATED');
});

it('an export of more than a message may have comes in pieces, whole', async () => {
  // Of three bytes each, so that characters go on in the next piece.
  const readme = '\u6587'.repeat(4 * MIB);
  for (let id = 1; id <= 6; id++) await replica.models.rules.create({ _id: id, path: `/${id}`, readme });
  const pieces: Uint8Array[] = [];
  for await (const piece of replica.admin.exportConfiguration({ passphrase: '' }, replica.as())) {
    expect(ExportConfigurationResponse.encode(piece).finish().length).toBeLessThan(2 * MIB);
    pieces.push(piece.document);
  }
  const document = Buffer.concat(pieces);
  expect(document.length).toBeGreaterThan(MESSAGE_BYTES);
  expect(JSON.parse(document.toString()).metas.map((rule: { readme: string }) => rule.readme === readme)).toEqual(Array(6).fill(true));
});
