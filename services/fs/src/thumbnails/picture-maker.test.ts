import { execFile } from 'node:child_process';
import { readdir, readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, it, vi } from 'vitest';
import { createPictureMaker } from './picture-maker.ts';
import { pngOf } from './testing/pictures.ts';

const PROGRAM = fileURLToPath(new URL('./testing/without-handles.ts', import.meta.url));

it.runIf(process.platform === 'linux')('while no file handle is left no picture is made, and the process goes on', async () => {
  const program = ['-c', 'ulimit -n 64; exec "$@"', 'sh', process.execPath, '--disable-warning=ExperimentalWarning', PROGRAM];
  const { stdout } = await promisify(execFile)('/bin/sh', program);
  expect(JSON.parse(stdout)).toEqual({ without: Array.from({ length: 5 }, () => 'OVERLOADED'), again: 'made' });
});

it.runIf(process.platform === 'linux')(
  'a process that the system ends says nothing of its picture, which is made the next time',
  async () => {
    const maker = createPictureMaker();
    // Large enough to take longer than it takes to find its process.
    const made = maker.make(pngOf(3_000, 3_000));
    const refused = expect(made).rejects.toMatchObject({ code: 'OVERLOADED' });
    process.kill(await vi.waitUntil(pictureProcess, { timeout: 15_000, interval: 5 }), 'SIGKILL');
    await refused;
    expect((await maker.make(pngOf(10, 10))).byteLength).toBeGreaterThan(0);
    maker.close();
  },
);

it.runIf(process.platform === 'linux')('a picture that would fill the memory that is left is given up, and said nothing of', async () => {
  let roomBytes = 150 * 1024 ** 2;
  const maker = createPictureMaker({ roomBytes: () => roomBytes });
  // Takes some 330 MB, as of every large one a multiple of its 75 MB.
  await expect(maker.make(pngOf(5_000, 5_000))).rejects.toMatchObject({ code: 'OVERLOADED' });
  roomBytes = Number.POSITIVE_INFINITY;
  expect((await maker.make(pngOf(10, 10))).byteLength).toBeGreaterThan(0);
  maker.close();
});

it('pictures of callers are made by turns, however many one of them has asked for', async () => {
  const maker = createPictureMaker();
  const ended: string[] = [];
  const make = (caller: string) => maker.make(pngOf(300, 200), { caller }).then(() => ended.push(caller));
  await Promise.all([...Array.from({ length: 20 }, () => make('many')), make('one')]);
  maker.close();
  // Of two processes one may make several while the other one starts.
  expect(ended.indexOf('one')).toBeLessThan(15);
});

it('who waits for no picture any more is not waited for', async () => {
  const maker = createPictureMaker();
  const gone = new AbortController();
  const first = Promise.all([1, 2].map(() => maker.make(pngOf(300, 200), { caller: 'many' })));
  const left = maker.make(pngOf(300, 200), { caller: 'many', signal: gone.signal });
  gone.abort();
  await expect(left).rejects.toThrow();
  await first;
  expect((await maker.make(pngOf(10, 10), { caller: 'many' })).byteLength).toBeGreaterThan(0);
  maker.close();
});

/** The id of the one that this process has started, once it runs. */
async function pictureProcess(): Promise<number | undefined> {
  for (const id of await readdir('/proc')) {
    const [status, command] = await Promise.all(
      ['status', 'cmdline'].map((file) => readFile(`/proc/${id}/${file}`, 'utf8').catch(() => '')),
    );
    if (status?.includes(`PPid:\t${process.pid}\n`) && command?.includes('picture-process')) return Number(id);
  }
  return undefined;
}

it('a large file goes to the process without being copied here, and what comes behind it is read from its beginning', async () => {
  const maker = createPictureMaker();
  const image = new Uint8Array(32 * 1024 ** 2);
  image.set(pngOf(20, 10));
  const before = process.memoryUsage().arrayBuffers;
  const made = maker.make(image);
  expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(1024 ** 2);
  expect((await made).byteLength).toBeGreaterThan(0);
  expect((await maker.make(pngOf(10, 10))).byteLength).toBeGreaterThan(0);
  maker.close();
});

it.runIf(process.platform === 'linux')('a process that ends while it rests takes no picture with it', async () => {
  const maker = createPictureMaker();
  await maker.make(pngOf(10, 10));
  process.kill(Number(await pictureProcess()), 'SIGKILL');
  const next = await maker.make(pngOf(10, 10)).catch(({ code }: { code: string }) => code);
  expect(next === 'OVERLOADED' || next instanceof Uint8Array).toBe(true);
  maker.close();
});
