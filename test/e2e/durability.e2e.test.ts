import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type Api, api, at, download, generateContent, httpRequest, makeTempDir, startStandalone, waitFor } from '@wharf/harness';
import { afterAll, describe, expect, test } from 'vitest';
import { authorization, filePath, namesIn, put, rawPath } from './support/files.ts';
import { dataOf, userFields } from './support/people.ts';
import { openRaw, writeRaw } from './support/raw-request.ts';
import { settingItems } from './support/settings.ts';
import { openWorld, type World } from './support/world.ts';

const MIB = 1024 * 1024;
/** Changes that are acknowledged before the process is killed, in each of the rounds. */
const ACKNOWLEDGED_PER_ROUND = 500;
const ROUNDS = 2;
/** Settings that nothing depends on, one for each client that saves. */
const SETTING_KEYS = ['announcement', 'home_icon', 'main_color', 'ocr_api'];

const dataDir = await makeTempDir('durable');
const world = await openWorld(startStandalone, { dataDir: dataDir.path, env: { WHARF_SECRET: undefined } });
afterAll(async () => {
  await world.close();
  await dataDir.remove();
});

/** What one client was told is done. `next` may be done too when the process was killed before it could say so. */
interface Client {
  /** Makes the next change; resolves when it was acknowledged. */
  step(): Promise<void>;
  /** Fails when something acknowledged is not there. */
  verify(): Promise<void>;
}

function folderMaker(caller: Api, root: string): Client {
  let acknowledged = 0;
  return {
    async step() {
      await caller.call('/api/fs/mkdir', { path: `${root}/folder ${acknowledged}/inner` });
      acknowledged++;
    },
    async verify() {
      const names = new Set(await namesIn(caller, root));
      for (let index = 0; index < acknowledged; index++) {
        expect(names, `folder ${index}`).toContain(`folder ${index}`);
        if (index % 10 === 0) expect(await namesIn(caller, `${root}/folder ${index}`)).toEqual(['inner']);
      }
    },
  };
}

function renamer(caller: Api, base: string, root: string): Client {
  let acknowledged = -1;
  return {
    async step() {
      if (acknowledged === -1) expect(await put(caller, base, `${root}/name 0`, 'content')).toMatchObject({ code: 200 });
      else await caller.call('/api/fs/rename', { path: `${root}/name ${acknowledged}`, name: `name ${acknowledged + 1}` });
      acknowledged++;
    },
    async verify() {
      const names = await namesIn(caller, root);
      expect(names).toHaveLength(1);
      expect([`name ${acknowledged}`, `name ${acknowledged + 1}`]).toContain(names[0]);
      // The one under way when the process was killed counts from here.
      acknowledged = Number(String(names[0]).split(' ')[1]);
    },
  };
}

function saver(at_: World, key: string): Client {
  let acknowledged = 0;
  return {
    async step() {
      await at_.admin.call('/api/admin/setting/save', await settingItems(at_, { [key]: `value ${acknowledged + 1}` }));
      acknowledged++;
    },
    async verify() {
      const value = String(at(await dataOf(at_.admin, `/api/admin/setting/get?key=${key}`), 'value'));
      expect([`value ${acknowledged}`, `value ${acknowledged + 1}`]).toContain(value);
      acknowledged = Number(value.split(' ')[1]);
    },
  };
}

function hirer(caller: Api, prefix: string): Client {
  let acknowledged = 0;
  return {
    async step() {
      await caller
        .call('/api/admin/user/create', userFields({ username: `${prefix}-${acknowledged}`, password: 'secret' }))
        .catch((error: Error) => {
          // After a kill the one under way may have been made.
          if (!error.message.includes('already exists')) throw error;
        });
      acknowledged++;
    },
    async verify() {
      const users = at(await dataOf(caller, '/api/admin/user/list'), 'content');
      const names = new Set(Array.isArray(users) ? users.map((user) => at(user, 'username')) : []);
      for (let index = 0; index < acknowledged; index++) expect(names, `${prefix}-${index}`).toContain(`${prefix}-${index}`);
    },
  };
}

/** Names in the files folder that are ours while files are on their way. */
async function temporaryNames(): Promise<string[]> {
  return (await readdir(world.wharf.filesDir, { recursive: true })).filter((name) => name.includes('.wharf'));
}

describe('what was acknowledged stays', () => {
  test(`after kill -9 every one of ${ROUNDS * ACKNOWLEDGED_PER_ROUND} acknowledged changes is there`, async () => {
    const { admin, base } = world;
    const makers = await Promise.all([0, 1].map(async () => folderMaker(admin, (await world.folder('made')).path)));
    const renamers = await Promise.all([0, 1].map(async () => renamer(admin, base, (await world.folder('renamed')).path)));
    const clients = [
      ...makers,
      ...renamers,
      ...SETTING_KEYS.slice(0, 2).map((key) => saver(world, key)),
      hirer(admin, 'left'),
      hirer(admin, 'right'),
    ];
    for (let round = 1; round <= ROUNDS; round++) {
      let acknowledged = 0;
      let isKilled = false;
      const work = clients.map(async (client) => {
        while (!isKilled) {
          try {
            await client.step();
            acknowledged++;
          } catch (error) {
            if (!isKilled) throw error;
          }
        }
      });
      const failed = Promise.race(work);
      await Promise.race([
        failed,
        waitFor('the acknowledged changes', () => acknowledged >= ACKNOWLEDGED_PER_ROUND, { withinMs: 100_000, everyMs: 1 }),
      ]);
      isKilled = true;
      await world.wharf.kill();
      await Promise.all(work);
      expect(acknowledged).toBeGreaterThanOrEqual(ACKNOWLEDGED_PER_ROUND);
      await world.wharf.restart();
      for (const client of clients) await client.verify();
    }
  });

  test('a restart logs nobody out, keeps every signature, and forgets no logout', async () => {
    const { admin, base } = world;
    const { path } = await world.folder('restart');
    await put(admin, base, `${path}/f.txt`, 'f');
    const link = await rawPath(admin, `${path}/f.txt`);
    const away = api(
      base,
      String(at(await api(base).call('/api/auth/login', { username: 'admin', password: world.wharf.adminPassword }), 'token')),
    );
    await away.get('/api/auth/logout');
    const token = at(await dataOf(admin, '/api/admin/setting/get?key=token'), 'value');
    await world.wharf.kill();
    await world.wharf.restart();
    expect(await admin.get('/api/me')).toMatchObject({ code: 200 });
    expect(await away.get('/api/me')).toMatchObject({ code: 401, message: 'token is invalidated' });
    expect(await rawPath(admin, `${path}/f.txt`)).toBe(link);
    expect((await httpRequest(base, { path: link })).text()).toBe('f');
    expect(at(await dataOf(admin, '/api/admin/setting/get?key=token'), 'value')).toBe(token);
  });

  test('kill -9 in the middle of uploads leaves the old files, and the next start clears away what was on its way', async () => {
    const { admin, base } = world;
    const { path, disk } = await world.folder('killed');
    const old = Buffer.concat([...generateContent('old', MIB)]);
    const names = ['old.bin', 'new.bin', 'deep/er/new.bin'];
    await put(admin, base, `${path}/old.bin`, old);
    const head = (name: string) =>
      [
        'PUT /api/fs/put HTTP/1.1',
        'Host: wharf',
        `Authorization: ${authorization(admin).authorization}`,
        `File-Path: ${filePath(`${path}/${name}`)['file-path']}`,
        `Content-Length: ${64 * MIB}`,
      ].join('\r\n');
    const sockets = await Promise.all(names.map((name) => openRaw(base, `${head(name)}\r\n\r\n`)));
    await Promise.all(sockets.map((socket) => writeRaw(socket, Buffer.concat([...generateContent('half', 8 * MIB)]))));
    await waitFor('the uploads to be on their way', async () => (await temporaryNames()).length >= names.length);
    await world.wharf.kill();
    for (const socket of sockets) socket.destroy();
    expect(await readFile(join(disk, 'old.bin'))).toEqual(old);
    await world.wharf.restart();
    await waitFor('what was on its way to be cleared away', async () => (await temporaryNames()).length === 0);
    expect(await readFile(join(disk, 'old.bin'))).toEqual(old);
    expect((await namesIn(admin, path)).filter((name) => String(name).endsWith('.bin'))).toEqual(['old.bin']);
  });

  test('SIGTERM ends it within 10 seconds with 0, although somebody downloads slowly and somebody uploads', async () => {
    const { admin, base } = world;
    const { path } = await world.folder('slow');
    await put(admin, base, `${path}/big.bin`, generateContent('slow', 64 * MIB));
    const link = await rawPath(admin, `${path}/big.bin`);
    const reading = Promise.withResolvers<void>();
    const never = Promise.withResolvers<void>();
    const slow = download(base, { path: link }, () => {
      reading.resolve();
      return never.promise;
    }).catch(() => undefined);
    await reading.promise;
    const uploading = await openRaw(
      base,
      `PUT /api/fs/put HTTP/1.1\r\nHost: w\r\nAuthorization: ${admin.token}\r\nFile-Path: ${path}/up.bin\r\nContent-Length: 99999999\r\n\r\nbegin`,
    );
    await waitFor('the upload to be on its way', async () => (await temporaryNames()).length > 0);
    const before = performance.now();
    const status = await world.wharf.stop();
    expect(performance.now() - before).toBeLessThan(10_000);
    expect(status).toEqual({ code: 0, signal: null });
    never.resolve();
    uploading.destroy();
    await slow;
    await world.wharf.restart();
    await waitFor('what was on its way to be cleared away', async () => (await temporaryNames()).length === 0);
    expect(await namesIn(admin, path)).toEqual(['big.bin']);
  });

  test('a second process on the same data folder is refused and says why; the first goes on', async () => {
    const second = startStandalone({ dataDir: dataDir.path, filesDir: world.wharf.filesDir, env: { WHARF_SECRET: undefined } });
    await expect(second).rejects.toThrow(/in use|already|another process|locked/i);
    expect(await world.admin.get('/api/me')).toMatchObject({ code: 200 });
  });
});
