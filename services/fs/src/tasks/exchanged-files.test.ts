import { expect, it } from 'vitest';
import { lateDriver } from '../domain/testing/late-driver.ts';
import { actor, bytesOf, mpath, openTree } from '../domain/testing/memory-tree.ts';
import { refusalOf } from '../domain/testing/refusal.ts';
import { copyEntries, moveEntries } from './testing/place-now.ts';

const blind = actor({ permission: 0xfffe });
const request = { src_dir: '/in', dst_dir: '/out', names: ['d'], overwrite: false, skip_existing: false };

/** A tree in which a file becomes a folder with something hidden in it, just as its storage is asked to copy the file. */
async function open() {
  let isFile = true;
  const late = lateDriver(async (driver, from) => {
    if (!isFile) return;
    isFile = false;
    await driver.remove(from, { recursive: false });
    await driver.write(mpath(`${from}/secret`), bytesOf('secret'), { overwrite: true });
  });
  const memory = await openTree({
    storages: [{ driver: 'Late' }],
    drivers: [late],
    rules: [{ path: '/in', hide: '^secret$', h_sub: true }],
  });
  await memory.put('/in/d/f', '');
  await memory.makeFolder('/out');
  return memory;
}

it.each([
  ['copy', copyEntries],
  ['move', moveEntries],
] as const)('C16: what was looked at as a file and is a folder as it is copied is no part of a %s as a task', async (_what, place) => {
  const memory = await open();
  const [code] = await refusalOf(place(memory.operation(blind), request));
  expect([code, await memory.everything()]).toEqual(['IS_A_DIRECTORY', ['/in/d/f/secret', '/out/d/']]);
});
