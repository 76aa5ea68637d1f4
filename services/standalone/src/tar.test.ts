import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { expect, it } from 'vitest';
import { type TarMember, tarOf } from './tar.ts';

async function* of<T>(...values: T[]): AsyncGenerator<T> {
  yield* values;
}

/** What the system's tar lists of an archive that may end early. */
async function listed(members: readonly TarMember[]): Promise<string> {
  const tar = spawn('tar', ['-tvf', '-', '--numeric-owner'], { stdio: ['pipe', 'pipe', 'ignore'] });
  let said = '';
  tar.stdout.on('data', (chunk) => {
    said += chunk;
  });
  const ended = once(tar, 'close');
  try {
    for await (const chunk of tarOf(of(...members))) tar.stdin.write(chunk);
  } catch {
    // The test says so.
  }
  tar.stdin.end();
  await ended;
  return said;
}

it('files of every length are read by tar, for their owner alone', async () => {
  const members = [0, 1, 511, 512, 513].map((sizeBytes) => ({
    ...{ name: `a/${sizeBytes}`, sizeBytes, changedAtMs: 86_400_000 },
    content: of(Buffer.alloc(sizeBytes)),
  }));
  expect(
    (await listed(members))
      .trim()
      .split('\n')
      .map((line) => line.replaceAll(/\s+/g, ' ')),
  ).toEqual(members.map(({ name, sizeBytes }) => `-rw------- 0/0 ${sizeBytes} 1970-01-02 00:00 ${name}`));
});

it('a file beyond 8 GiB has its size', async () => {
  const sizeBytes = 9 * 1024 ** 3;
  expect(await listed([{ name: 'large', sizeBytes, changedAtMs: 0, content: of(Buffer.alloc(1)) }])).toContain(` ${sizeBytes} `);
});

it.each([1, 3])('a content of %i bytes where 2 were said is an error', async (bytes) => {
  const archive = tarOf(of({ name: 'a', sizeBytes: 2, changedAtMs: 0, content: of(Buffer.alloc(bytes)) }));
  await expect(Array.fromAsync(archive)).rejects.toThrow('a is not 2 bytes long');
});
