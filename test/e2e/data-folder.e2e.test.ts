import { readdir, readFile, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { at, login, makeTempDir, startServices, startStandalone } from '@wharf/harness';
import { describe, expect, onTestFinished, test } from 'vitest';
import { inParallel } from './support/in-parallel.ts';

const KILL_AT_STEP = join(import.meta.dirname, 'support', 'kill-at-step.ts');
const PASSWORD_LINE = /First start: log in as "admin" with the password (\S+) /g;

async function folders() {
  const dir = await makeTempDir('data-folder');
  onTestFinished(() => dir.remove());
  const [dataDir, filesDir, steps] = ['data', 'files', 'steps'].map((name) => join(dir.path, name)) as [string, string, string];
  return { dataDir, filesDir, steps };
}

/** What a start under these conditions says when it does not come up. */
const refusal = (started: Promise<unknown>): Promise<string> =>
  started.then(
    () => 'it started',
    (error: Error) => error.message,
  );

describe('a first start that is killed', () => {
  const env = { WHARF_SECRET: undefined, WHARF_ADMIN_PASSWORD: undefined };
  const killed = ({ dataDir, filesDir, steps }: Awaited<ReturnType<typeof folders>>, killAt: string) =>
    startStandalone({
      ...{ dataDir, filesDir },
      env: { ...env, NODE_OPTIONS: `--import=${KILL_AT_STEP}`, WHARF_TEST_KILL_AT: killAt, WHARF_TEST_STEPS: steps },
    });

  test('at any step is followed by one that succeeds, and the password that was shown last holds', { timeout: 1_200_000 }, async () => {
    const whole = await folders();
    await (await killed(whole, 'none:0')).stop();
    const steps = (await readFile(whole.steps, 'utf8')).split('\n').map((line) => line.split(' ')[0]);
    const count = (kind: string) => steps.filter((step) => step === kind).length;
    const places = ['files', 'store'].flatMap((kind) => Array.from({ length: count(kind) }, (_, index) => `${kind}:${index + 1}`));
    expect(places.length).toBeGreaterThan(30);

    await inParallel(3, places, async (killAt) => {
      const own = await folders();
      const said = await refusal(killed(own, killAt));
      // Stopping takes steps as well, which come after the start.
      if (said === 'it started') return;
      const next = await startStandalone({ ...own, env });
      try {
        const [password] = [...`${said}${next.log()}`.matchAll(PASSWORD_LINE)].map(([, shown]) => shown).slice(-1);
        const admin = await login(next.base, 'admin', password ?? '');
        expect(at(await admin.call('/api/fs/list', { path: '/' }), 'content', 0, 'name'), killAt).toBe('local');
      } finally {
        await next.kill();
      }
    });
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
