import { mkdir, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { AppError } from '@wharf/errors';
import { makeTempDir } from '@wharf/harness';
import { expect, it } from 'vitest';
import { listenHttp } from './ops/http-listener.ts';
import { startProblem } from './start-problem.ts';
import { connectStore } from './store.ts';

const problemOf = (work: Promise<unknown>) => work.then(() => 'no problem', startProblem);

it('tells what to do about a port that is taken, a folder that is a file, and an address of another machine', async () => {
  const other = createServer();
  const port = await new Promise<number>((resolve) => {
    other.listen(0, '127.0.0.1', () => resolve(Number(Object(other.address()).port)));
  });
  expect(await problemOf(listenHttp(() => undefined, '127.0.0.1', port))).toMatch(`port ${port} of 127.0.0.1 is in use`);
  other.close();
  expect(await problemOf(listenHttp(() => undefined, '192.0.2.1', 0))).toMatch('192.0.2.1 is no address of this machine');
  const folder = await makeTempDir('start-problem');
  const file = join(folder.path, 'file');
  await writeFile(file, '');
  for (const path of [file, join(file, 'below')])
    expect(await problemOf(mkdir(path, { recursive: true }))).toMatch(`${path} cannot be used (`);
  await folder.remove();
});

it('tells of a store that does not answer', async () => {
  const closed = createServer();
  const port = await new Promise<number>((resolve) => {
    closed.listen(0, '127.0.0.1', () => resolve(Number(Object(closed.address()).port)));
  });
  await new Promise((resolve) => closed.close(resolve));
  const url = `mongodb://127.0.0.1:${port}/wharf?serverSelectionTimeoutMS=1`;
  expect(await problemOf(connectStore(url))).toMatch(/^the store does not answer: .* Start it, or correct MONGO_URL\.$/);
});

it('repeats what was foreseen, and nothing else', () => {
  expect(startProblem(new AppError('FAILED_PRECONDITION', 'do this'))).toBe('do this');
  expect(startProblem(new Error('nobody knows'))).toBeUndefined();
  expect(startProblem(undefined)).toBeUndefined();
});
