import { once } from 'node:events';
import { readdir, readFile, readlink } from 'node:fs/promises';
import { ensureCommand, isAvailable, isMissing } from '@wharf/harness';
import { ownBytes, takenBytes } from '@wharf/pace';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { NO_EGRESS } from '../../src/driver-contract/open-context.ts';
import { RcloneClient } from '../../src/drivers/rclone/client.ts';
import { Rcd } from '../../src/drivers/rclone/rcd.ts';
import { mostMemory, type RcdProcess, startRcd } from '../../src/drivers/rclone/rcd-process.ts';

const program = await ensureCommand('rclone', 'rclone');

describe.runIf(isAvailable('rclone', program))('the rclone of this process', () => {
  if (isMissing(program)) return;

  const nowhere = async () => {
    throw new Error('nothing is reached here');
  };

  async function started(): Promise<RcdProcess> {
    const process = await startRcd(nowhere);
    onTestFinished(() => process.kill());
    return process;
  }

  const ask = ({ url, authorization }: RcdProcess, method: string, body: object = {}) =>
    fetch(`${url}/${method}`, {
      method: 'POST',
      headers: { authorization, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
  const pidOf = async (process: RcdProcess): Promise<number> => ((await (await ask(process, 'core/pid')).json()) as { pid: number }).pid;

  it('answers nobody without its password', async () => {
    const process = await started();
    expect((await ask(process, 'rc/noopauth')).status).toBe(200);
    for (const authorization of ['', 'Basic d2hhcmY6', 'Basic d2hhcmY6d2hhcmY=']) {
      expect((await ask({ ...process, authorization }, 'rc/noopauth')).status).toBe(401);
      expect((await ask({ ...process, authorization }, 'operations/list', { fs: '/', remote: '' })).status).toBe(401);
    }
  });

  it('has its secrets in no argument, no variable and no file with a name (C21)', async () => {
    const running = await started();
    const parameters = { host: '127.0.0.1', user: 'anna', pass: 'the-password-of-anna' };
    expect((await ask(running, 'config/create', { name: 'x', type: 'smb', parameters, opt: { obscure: true } })).status).toBe(200);
    const pid = await pidOf(running);
    const own = Buffer.from(running.authorization.slice('Basic '.length), 'base64').toString('utf8').split(':')[1] ?? '';
    expect(own.length).toBeGreaterThan(40);
    const shown = await Promise.all(['cmdline', 'environ'].map((name) => readFile(`/proc/${pid}/${name}`, 'utf8')));
    for (const text of shown) for (const secret of [own, parameters.pass]) expect(text).not.toContain(secret);
    // What it holds open: pipes, sockets, and the file of the hash, which has lost its name.
    const held = await Promise.all((await readdir(`/proc/${pid}/fd`)).map((fd) => readlink(`/proc/${pid}/fd/${fd}`).catch(() => '')));
    const files = held.filter((target) => target.startsWith('/') && target !== '/dev/null');
    expect(files.every((target) => target.endsWith(' (deleted)'))).toBe(true);
    expect(await readdir('/dev/shm').then((names) => names.filter((name) => name.startsWith('.wharf-')))).toEqual([]);
  });

  it.runIf(process.getuid?.() === 0)('is not root where we are', async () => {
    const status = await readFile(`/proc/${await pidOf(await started())}/status`, 'utf8');
    expect(/^Uid:\s+(\d+)\s+(\d+)/m.exec(status)?.slice(1)).toEqual(['65534', '65534']);
    expect(/^Groups:(.*)$/m.exec(status)?.[1]?.trim()).toBe('');
  });

  it.runIf(process.platform === 'linux')('is what the system ends first where memory is short', async () => {
    expect(Number(await readFile(`/proc/${await pidOf(await started())}/oom_score_adj`, 'utf8'))).toBe(1000);
  });

  it('ends whole when it is told to, or when its shell is killed', async () => {
    for (const how of ['told', 'shell']) {
      const running = await started();
      const pid = await pidOf(running);
      const parent = Number(/^PPid:\s+(\d+)/m.exec(await readFile(`/proc/${pid}/status`, 'utf8'))?.[1]);
      if (how === 'told') running.kill();
      else process.kill(parent, 'SIGKILL');
      await vi.waitFor(() => expect(isAlive(pid)).toBe(false), { timeout: 30_000 });
      expect(running.ended.aborted).toBe(true);
    }
  });

  it('is ended where it answers nobody any more, and not where it answers', async () => {
    const rcd = new Rcd(startRcd, 1_000);
    onTestFinished(rcd.hold(NO_EGRESS));
    const first = await rcd.get();
    onTestFinished(() => first.kill());
    await rcd.suspect(first);
    expect(first.ended.aborted).toBe(false);
    process.kill(await pidOf(first), 'SIGSTOP');
    await rcd.suspect(first);
    await vi.waitFor(() => expect(first.ended.aborted).toBe(true), { timeout: 30_000 });
  });

  it('is ended where it takes more memory than it may, and whoever waits for it is told', async () => {
    const greedy = await startRcd(nowhere, 'rclone', 1);
    onTestFinished(() => greedy.kill());
    if (!greedy.ended.aborted) await once(greedy.ended, 'abort');
    const way = { remote: async () => ({ type: 'memory', parameters: {} }), failure: undefined, close: () => undefined };
    const client = new RcloneClient(way, { hold: () => () => undefined, get: async () => greedy });
    onTestFinished(() => client.close());
    await expect(client.find('a', {})).rejects.toMatchObject({
      code: 'STORAGE_UNAVAILABLE',
      message: expect.stringContaining('of memory'),
    });
  });

  it('counts as memory that is taken, until it ends', async () => {
    const besideBytes = () => takenBytes() - ownBytes();
    const before = besideBytes();
    const process = await started();
    expect(besideBytes() - before).toBeGreaterThan(4 * 1024 ** 2);
    process.kill();
    await vi.waitFor(() => expect(besideBytes() - before).toBeLessThan(4 * 1024 ** 2), { timeout: 30_000 });
  });

  it('is started again after its end, with another password, and not at once where it ends soon', async () => {
    const rcd = new Rcd(startRcd);
    const release = rcd.hold(NO_EGRESS);
    onTestFinished(release);
    const [first, same] = await Promise.all([rcd.get(), rcd.get()]);
    expect(same).toBe(first);
    process.kill(await pidOf(first), 'SIGKILL');
    await vi.waitFor(() => expect(first.ended.aborted).toBe(true), { timeout: 30_000 });
    await expect(rcd.get()).rejects.toMatchObject({ code: 'STORAGE_UNAVAILABLE', details: { retryAfterMs: expect.any(Number) } });
    const next = await vi.waitFor(() => rcd.get(), { timeout: 30_000 });
    onTestFinished(() => next.kill());
    expect(next.authorization).not.toBe(first.authorization);
    expect((await ask(next, 'rc/noopauth')).status).toBe(200);
  });
});

it('rclone may take half of the memory that its process may have, however much that is', () => {
  const gib = 1024 ** 3;
  for (const [total, constrained, most] of [
    [2, 0, 1],
    [64, 0, 32],
    [64, 16, 8],
    [8, 2 ** 33, 4],
  ] as const)
    expect(mostMemory(total * gib, constrained * gib)).toBe(most * gib);
});

it('a machine without rclone is told so, each time', async () => {
  const rcd = new Rcd((connect) => startRcd(connect, 'rclone-that-is-not-there'));
  for (let round = 0; round < 3; round += 1) {
    await expect(rcd.get()).rejects.toMatchObject({ code: 'FAILED_PRECONDITION', message: expect.stringContaining('not installed') });
  }
});

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
