import { ExportConfigurationResponse } from '@wharf/proto/admin';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type Installation, openInstallation } from './installation.ts';
import { asLogin, errorOf, type Replica, setting, storage } from './replica.ts';

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

it.each(['listStorages', 'listRules', 'getRule', 'reloadStorages', 'listSettings', 'getSettings'] as const)(
  '%s does nothing for a login that ends while it waits for its turn',
  async (method) => {
    const first = replica.admin.exportConfiguration({ passphrase: '' }, replica.as())[Symbol.asyncIterator]();
    await first.next();
    const refused = errorOf(replica.admin[method]({}, await asLogin(replica, method)));
    await replica.models.sessions.deleteOne({ _id: method });
    await first.return?.();
    expect((await refused).code).toBe('UNAUTHENTICATED');
  },
);

it('a storage or a setting that waits for fs is not saved where the login of whoever enters it ends meanwhile', async () => {
  const { fs } = installation;
  const before = await replica.models.settings.find().lean();
  fs.beforeAnswer = async () => void (await replica.models.sessions.deleteMany({}));
  const changes = [
    async () => replica.admin.createStorage({ storage: storage() }, await asLogin(replica, 'makes')),
    async () => replica.admin.saveSettings({ items: [setting('search_index', 'database')] }, await asLogin(replica, 'sets')),
  ];
  for (const change of changes) expect((await errorOf(change())).code).toBe('UNAUTHENTICATED');
  fs.beforeAnswer = async () => {};
  expect([await replica.models.storages.countDocuments(), await replica.models.settings.find().lean()]).toEqual([0, before]);
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
