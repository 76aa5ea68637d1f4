import { readdir, readFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import { join } from 'node:path';
import { type Api, api, at, login, makeTempDir, runCommand, startStandalone, type TempDir, type Wharf, waitFor } from '@wharf/harness';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { fetchFile } from './support/files.ts';
import { ADMIN_READS, listed, OLD, sourceContent } from './support/old-data.ts';
import { dataOf } from './support/people.ts';
import { totpCode } from './support/totp.ts';

const FIXTURES = join(import.meta.dirname, 'fixtures', 'bacfa88');
const WITHIN = { withinMs: 60_000 };
const SUCCEEDED = 2;
const ENDED: readonly unknown[] = [SUCCEEDED, 4, 7];

const ended = (task: unknown): unknown => (ENDED.includes(at(task, 'state')) ? task : undefined);

/** Serves the files that the downloads of the fixture ask for, at the address that they have. */
async function startSource(): Promise<Server> {
  const server = createServer((request, response) => void response.end(sourceContent((request.url ?? '').slice(1))));
  const listen = () =>
    new Promise<boolean>((resolve) => {
      server.once('error', () => resolve(false));
      server.listen(OLD.source.port, OLD.source.host, () => resolve(true));
    });
  await waitFor('the address of the source, which another run may have', listen, WITHIN);
  return server;
}

/** Settings that nobody had changed, and whose default is another since. */
const NEW_DEFAULTS = { multipart_enabled: { value: 'true' } };

describe.each(['stopped', 'killed'])('the data of bacfa88, which was %s', (kind) => {
  let folder: TempDir;
  let wharf: Wharf;
  let source: Server;
  let facts: unknown;
  let admin: Api;
  const fact = (...steps: (string | number)[]) => at(facts, 'answers', ...steps);
  const place = (...names: string[]) => join(folder.path, 'old-data', ...names);
  const start = () =>
    startStandalone({
      cwd: folder.path,
      dataDir: place('data'),
      filesDir: place('files'),
      env: { WHARF_SECRET: undefined, WHARF_ADMIN_PASSWORD: 'not looked at', WHARF_EGRESS_ALLOW: OLD.source.host },
    });

  beforeAll(async () => {
    folder = await makeTempDir('old-data');
    const { code, stderr } = await runCommand('tar', ['-xzf', join(FIXTURES, `${kind}.tar.gz`), '-C', folder.path]);
    if (code !== 0) throw new Error(stderr);
    facts = JSON.parse(await readFile(place('facts.json'), 'utf8'));
    source = await startSource();
    wharf = await start();
    admin = await login(wharf.base, 'admin', OLD.adminPassword);
  });
  afterAll(async () => {
    await wharf?.stop();
    source?.closeAllConnections();
    source?.close();
    await folder?.remove();
  });

  test.each(ADMIN_READS)('GET %s says at least what it said', async (path) => {
    const [answer, before] = [await dataOf(admin, path), fact(path)];
    if (!Array.isArray(answer) || !Array.isArray(before)) return expect(answer).toMatchObject(Object(before));
    // Settings that came later stand anywhere among the others.
    const byKey = (items: unknown[]) => Object.fromEntries(items.map((item) => [at(item, 'key'), { value: at(item, 'value') }]));
    expect(byKey(answer)).toMatchObject({ ...byKey(before), ...(path.endsWith('/setting/list') && NEW_DEFAULTS) });
  });

  test('users log in with their passwords, and with their second factor where they had one', async () => {
    const { username, password } = OLD.otto;
    const logIn = (otp_code: string) => api(wharf.base).post('/api/auth/login', { username, password, otp_code });
    expect((await logIn('')).code).toBe(402);
    expect((await logIn(totpCode(String(at(facts, 'otpSecret'))))).code).toBe(200);
    expect((await logIn(String(at(facts, 'recoveryCodes', 0)))).code).toBe(200);
    expect((await logIn(String(at(facts, 'recoveryCodes', 0)))).code).toBe(402);
    await login(wharf.base, OLD.rita.username, OLD.rita.password);
    expect((await api(wharf.base, String(fact('token'))).get('/api/me')).data).toMatchObject({ username: 'admin' });
  });

  test('app passwords are there', async () => {
    const { username, password } = OLD.otto;
    const code = String(at(facts, 'recoveryCodes', 1));
    const otto = api(
      wharf.base,
      String(at(await api(wharf.base).call('/api/auth/login', { username, password, otp_code: code }), 'token')),
    );
    expect(await dataOf(otto, '/api/me/app_password/list')).toMatchObject({
      total: 1,
      content: [{ id: 1, name: 'phone', path: '/local' }],
    });
  });

  test('rules guard what they guarded, and links are signed as they were', async () => {
    const guest = api(wharf.base);
    for (const path of ['/local/guarded', '/local/team'])
      for (const [who, caller] of Object.entries({ guest, admin }))
        expect(await listed(caller, path), `${who} ${path}`).toEqual(fact(`${who} lists ${path} `));
    const opened = await listed(guest, '/local/guarded', OLD.rulePassword);
    expect(opened).toEqual(fact(`guest lists /local/guarded ${OLD.rulePassword}`));
    const link = new URL(String(at(await admin.call('/api/fs/get', { path: '/archive/signed.txt' }), 'raw_url')));
    expect(link.search).toBe(fact('link'));
    expect((await fetchFile(admin, wharf.base, '/archive/signed.txt')).text()).toBe('signed');
  });

  test('the search index finds what it found', async () => {
    const found = { parent: '/', keywords: 'plan', scope: 0, page: 1, per_page: 100, password: '' };
    expect(await admin.call('/api/fs/search', found)).toEqual(fact('search'));
  });

  test('an export of that version can be imported', async () => {
    const question = { document: fact('export'), passphrase: OLD.passphrase, dry_run: true };
    const records = at(await admin.call('/api/admin/config/import', question), 'records');
    if (!Array.isArray(records)) throw new Error('no report');
    for (const record of records) expect(['unchanged', 'skipped'], JSON.stringify(record)).toContain(at(record, 'outcome'));
    expect(records.length).toBeGreaterThan(70);
  });

  test('open tasks go on: what waited is done, what was held stays held until it is let go', async () => {
    for (const list of ['offline_download', 'copy', 'upload']) {
      const tasks = fact(`undone ${list}`);
      if (!Array.isArray(tasks)) throw new Error(`no ${list}`);
      for (const task of tasks) {
        const id = String(at(task, 'id'));
        const read = () => admin.call(`/api/task/${list}/info?tid=${id}`);
        if (at(task, 'paused') === true) {
          expect(await read()).toMatchObject({ paused: true, state: 0 });
          await admin.call(`/api/task/${list}/resume?tid=${id}`);
        }
        const end = await waitFor(`${list} ${id} to end`, async () => ended(await read()), WITHIN);
        expect(end, JSON.stringify(end)).toMatchObject({ state: SUCCEEDED });
      }
    }
    for (const name of ['one', 'two', 'three'])
      expect((await readFile(place('archive', 'in', name))).equals(sourceContent(name)), name).toBe(true);
    const many = await readdir(place('files', 'many'));
    expect((await readdir(place('archive', 'many'))).toSorted()).toEqual(many.toSorted());
    expect(await readFile(place('archive', 'rita', 'notes.txt'), 'utf8')).toBe('rita/notes.txt');
    expect((await readdir(place('archive', 'team'))).toSorted()).toEqual(['.hidden.txt', 'for otto.txt']);
    const waited = (await readdir(place('files'))).filter((name) => name.startsWith('waiting '));
    expect(waited.length).toBeGreaterThan(0);
    expect(await readFile(place('files', waited[0] ?? ''), 'utf8')).toBe('waited since bacfa88\n'.repeat(5000));
  });
});
