import { readdir, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { at, login, makeTempDir, startServices, startStandalone } from '@wharf/harness';
import { describe, expect, onTestFinished, test } from 'vitest';
import { copyAtSteps, stopAtSteps } from './support/copy-at-steps.ts';

const PASSWORD_LINE = /First start: log in as "admin" with the password (\S+) /g;

async function folders() {
  const dir = await makeTempDir('data-folder');
  onTestFinished(() => dir.remove());
  return { root: dir.path, dataDir: join(dir.path, 'data'), filesDir: join(dir.path, 'files') };
}

/** What a start under these conditions says when it does not come up. */
const refusal = (started: Promise<unknown>): Promise<string> =>
  started.then(
    () => 'it started',
    (error: Error) => error.message,
  );

describe('a first start that is killed', () => {
  test('at any step is followed by one that succeeds, and the password that was shown last holds', { timeout: 1_200_000 }, async () => {
    const { root, ...own } = await folders();
    const notes = join((await folders()).root, 'steps');
    const env = { WHARF_SECRET: undefined, WHARF_ADMIN_PASSWORD: undefined };
    const whole = startStandalone({ ...own, env: { ...env, ...stopAtSteps(notes) } });
    const killed = await copyAtSteps(root, notes, whole);
    await (await whole).kill();
    expect(killed.length).toBeGreaterThan(30);

    for (const { copy, step, said } of killed) {
      await rm(root, { recursive: true });
      await rename(copy, root);
      const next = await startStandalone({ ...own, env });
      try {
        const [password] = [...`${said}${next.log()}`.matchAll(PASSWORD_LINE)].map(([, shown]) => shown).slice(-1);
        const admin = await login(next.base, 'admin', password ?? '');
        expect(at(await admin.call('/api/fs/list', { path: '/' }), 'content', 0, 'name'), step).toBe('local');
      } finally {
        await next.kill();
      }
    }
  });
});

describe.each([
  ['standalone', startStandalone],
  ['five processes', startServices],
])('%s: a data folder', (_, start) => {
  test('whose store is lost is refused, saying how to restore, and starts with the store of a backup', async () => {
    const { dataDir, filesDir } = await folders();
    const wharf = await start({ dataDir, filesDir, env: { WHARF_SECRET: undefined } });
    await wharf.stop();
    const backup = join(dataDir, 'backup');
    await rename(join(dataDir, 'store'), backup);
    const env = { WHARF_SECRET: undefined, WHARF_ADMIN_PASSWORD: wharf.adminPassword };
    const said = await refusal(start({ dataDir, filesDir, env }));
    expect(said).toContain('the store in');
    expect(said).toContain('is empty: what was in it is lost or damaged. Replace the folder');
    // Nothing of the refused one would spoil what is restored.
    expect((await readdir(join(dataDir, 'store'))).filter((name) => name.includes('-wal'))).toEqual([]);
    await rm(join(dataDir, 'store'), { recursive: true });
    await rename(backup, join(dataDir, 'store'));
    const again = await start({ dataDir, filesDir, env });
    await login(again.base, 'admin', wharf.adminPassword);
    await again.stop();
  });
});
