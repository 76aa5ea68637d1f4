import { readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { type FtpServer, isAvailable, isMissing, startFaultProxy, startFtpServer } from '@wharf/harness';
import { afterAll, describe, expect, it, onTestFinished } from 'vitest';
import { at, put, refuses, textOf } from '../../src/driver-contract/conformance/driver-calls.ts';
import { itemsOf, openFtp } from './open-ftp.ts';

/** Where data is to go, the command to store it, it, a look at it, its name in two steps, and whether it has lost the one before. */
const QUESTIONS = 7;
/** Whether a name is free: a server without MLST is asked twice. One that replaces nothing by a name is asked why, and has the old file step aside. */
const MORE = { vsftpd: { ofNew: 2, ofOld: 0 }, proftpd: { ofNew: 1, ofOld: 8 } };
/** A connection is made with the first one; its folder is looked at once a second. */
const AROUND = 20;

async function openThrough(server: FtpServer) {
  const way = await startFaultProxy({ to: server, samePorts: server.passivePorts });
  onTestFinished(() => way.stop());
  return { way, driver: await openFtp({ ...itemsOf(server), address: `${way.host}:${way.port}`, root_folder_path: '/' }) };
}

for (const software of ['vsftpd', 'proftpd'] as const) {
  const server = await startFtpServer({ software });
  describe.runIf(isAvailable(software, server))(`a small file on ${software}`, () => {
    if (isMissing(server)) return;
    afterAll(() => server.stop());

    it('takes seven questions, and those whether its name is free', async () => {
      const { way, driver } = await openThrough(server);
      for (const [files, overwrite] of [
        [20, false],
        [40, false],
        [40, true],
      ] as const) {
        const more = MORE[software][overwrite ? 'ofOld' : 'ofNew'];
        const before = way.questions();
        for (let file = 0; file < files; file += 1) await put(driver, `/folder-${files}/${file}`, 'x', { sizeBytes: 1, overwrite });
        expect(way.questions() - before).toBeLessThanOrEqual(files * (QUESTIONS + more) + AROUND);
      }
    });

    it('is refused as a large one is, and leaves nothing', async () => {
      const { driver } = await openThrough(server);
      const one = { sizeBytes: 1 };
      await driver.makeDirectory(at('/refused/folder'));
      await put(driver, '/refused/file', 'x', one);
      await refuses('IS_A_DIRECTORY', put(driver, '/refused/folder', 'y', one));
      await refuses('ENTRY_EXISTS', put(driver, '/refused/folder', 'y', { ...one, overwrite: false }));
      await refuses('ENTRY_EXISTS', put(driver, '/refused/file', 'y', { ...one, overwrite: false }));
      await refuses('NOT_A_DIRECTORY', put(driver, '/refused/file/below', 'y', one));
      await refuses('INVALID_ARGUMENT', put(driver, '/refused/other', 'yy', one));
      expect(await readdir(join(server.folder, 'refused'))).toEqual(['file', 'folder']);
      expect(await textOf(driver, '/refused/file')).toBe('x');
    });

    it('gets a folder that is gone since the last one came into it', async () => {
      const { driver } = await openThrough(server);
      await put(driver, '/gone/below/first', 'x', { sizeBytes: 1 });
      await rm(join(server.folder, 'gone'), { recursive: true });
      await put(driver, '/gone/below/second', 'y', { sizeBytes: 1 });
      expect(await textOf(driver, '/gone/below/second')).toBe('y');
      await rm(join(server.folder, 'gone'), { recursive: true });
      await driver.makeDirectory(at('/gone/below/folder'));
      expect(await readdir(join(server.folder, 'gone/below'))).toEqual(['folder']);
    });
  });
}
