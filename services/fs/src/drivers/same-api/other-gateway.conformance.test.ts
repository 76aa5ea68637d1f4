import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { request as ask } from 'node:http';
import path from 'node:path';
import { login, startHttpServer, startStandalone } from '@wharf/harness';
import { afterAll, expect, it, onTestFinished, vi } from 'vitest';
import { at, codeOf, collect, digest, namesIn, pattern, put, refuses, textOf } from '../../driver-contract/conformance/driver-calls.ts';
import { describeDriver } from '../../driver-contract/conformance.suite.ts';
import { decorate } from '../../driver-contract/decorate.ts';
import type { StorageDriver } from '../../driver-contract/storage-driver.ts';
import { withTraits } from '../../driver-contract/with-traits.ts';
import { alistDriver } from './index.ts';
import { nothingCountsWhileAway, storagesOn } from './testing/gateway-suite.ts';
import { testSurroundings } from './testing/test-surroundings.ts';

// Servers of the family name no errors, do not say that they are a Wharf, pass no hops on, and want the size of a body beforehand.

const wharf = await startStandalone();
const { token } = await login(wharf.base, 'admin', wharf.adminPassword);
const { hostname, port } = new URL(wharf.base);
const gateway = await startHttpServer((request, response) => {
  const { 'x-wharf-hops': _, ...headers } = request.headers;
  if (request.method === 'PUT' && headers['content-length'] === undefined) {
    request.resume();
    return void request.once('end', () => response.end(JSON.stringify({ code: 400, message: 'the size is missing', data: null })));
  }
  const passed = ask({ hostname, port, method: request.method, path: request.url, headers }, (answer) => {
    const { 'x-error-code': _name, 'x-wharf-installation': _id, ...rest } = answer.headers;
    response.writeHead(answer.statusCode ?? 500, rest);
    answer.pipe(response);
  });
  passed.once('error', () => response.destroy());
  response.once('close', () => passed.destroy());
  request.pipe(passed);
});
afterAll(async () => {
  await gateway.stop();
  await wharf.stop();
});

async function opened() {
  const folder = await mkdtemp(path.join(wharf.filesDir, 'family-'));
  const items = { url: gateway.url, token, root_folder_path: `/local/${path.basename(folder)}` };
  const driver = await alistDriver.open(JSON.stringify(items), testSurroundings());
  onTestFinished(async () => {
    await driver.close();
    await rm(folder, { recursive: true, force: true });
  });
  const left = async () => (await readdir(folder, { recursive: true })).filter((name) => name.includes('.wharf-'));
  return { driver: driver as Required<StorageDriver>, left };
}

/** With the size, which such a gateway must be told. */
const store = (driver: Required<StorageDriver>, name: string, content: string | Uint8Array, options = {}) =>
  put(driver, name, content, { sizeBytes: Buffer.byteLength(content), ...options });

// What follows a write that breaks is below: such a gateway may store its bytes after we have gone, and the next opening removes them.
const SOME = ['entries', 'content', 'making and removing', 'rename', 'abilities'];
const on = storagesOn({ wharf, url: gateway.url, token, definition: alistDriver });
const common = {
  lacks: ['beginRemoval', 'findOnHost', 'listAll', 'listNames', 'openDraft', 'readMany', 'space', 'statMany', 'writeMany'],
  isRemote: true,
  isWeb: true,
  hasNoTrustItem: true,
  hasLogin: true,
} as const;
describeDriver({
  ...common,
  name: 'AList V3, over a gateway of the family, with sizes taken in alone',
  groups: SOME,
  ...on(withTraits),
});
describeDriver({
  ...common,
  name: 'AList V3, over a gateway of the family, with everything around it',
  groups: [...SOME, 'names', 'copy', 'two at once', 'traits and life', 'faults', 'login', 'redirects', 'login that ends'],
  ...on((driver) => decorate(driver, alistDriver.limits)),
});

it('it is told the size beforehand', async () => {
  expect((await opened()).driver.traits.needsSize).toBe(true);
});

it('files are written, read in ranges, copied, moved under new names, and removed', async () => {
  const { driver, left } = await opened();
  const content = pattern(3_000_001);
  expect(await store(driver, '/d/ä +%2F#?.bin', content)).toMatchObject({ name: 'ä +%2F#?.bin', sizeBytes: content.byteLength });
  expect(digest(await collect(await driver.read(at('/d/ä +%2F#?.bin'))))).toBe(digest(content));
  const stretch = await collect(await driver.read(at('/d/ä +%2F#?.bin'), { offsetBytes: 1_000_000, lengthBytes: 10 }));
  expect(stretch).toEqual(content.subarray(1_000_000, 1_000_010));
  await driver.copy(at('/d'), at('/e'), { overwrite: false });
  await driver.makeDirectory(at('/f'));
  await driver.rename(at('/e/ä +%2F#?.bin'), at('/f/other'), { overwrite: false });
  expect(digest(await collect(await driver.read(at('/f/other'))))).toBe(digest(content));
  await driver.remove(at('/d'), { recursive: true });
  await driver.remove(at('/e'), { recursive: false });
  expect(await namesIn(driver, '/')).toEqual(['f']);
  expect(await left()).toEqual([]);
});

it('a move to a name that its old folder has keeps what is there', async () => {
  const { driver } = await opened();
  await store(driver, '/a/x', 'moved');
  await store(driver, '/a/y', 'stays');
  await store(driver, '/b/y', 'replaced');
  await refuses('ENTRY_EXISTS', driver.rename(at('/a/x'), at('/b/y'), { overwrite: false }));
  await driver.rename(at('/a/x'), at('/b/y'), { overwrite: true });
  expect([await textOf(driver, '/a/y'), await textOf(driver, '/b/y')]).toEqual(['stays', 'moved']);
  expect([await namesIn(driver, '/a'), await namesIn(driver, '/b')]).toEqual([['y'], ['y']]);
});

it('refusals are told by their texts', async () => {
  const { driver } = await opened();
  await store(driver, '/d/file', 'x');
  expect(await codeOf(driver.stat(at('/none')))).toBe('ENTRY_NOT_FOUND');
  expect(await codeOf(namesIn(driver, '/none'))).toBe('ENTRY_NOT_FOUND');
  expect(await codeOf(namesIn(driver, '/d/file'))).toBe('NOT_A_DIRECTORY');
  expect(await codeOf(store(driver, '/d/file', 'y', { overwrite: false }))).toBe('ENTRY_EXISTS');
  expect(await codeOf(store(driver, '/d', 'y'))).toBe('IS_A_DIRECTORY');
  expect(await codeOf(driver.makeDirectory(at('/d/file')))).toBe('ENTRY_EXISTS');
  expect(await textOf(driver, '/d/file')).toBe('x');
});

it('a write that breaks, or may not have its name, leaves the old file and nothing else', async () => {
  const { driver, left } = await opened();
  await store(driver, '/file', 'old');
  const broken = (async function* () {
    yield pattern(2_000_000);
    throw new Error('the source broke');
  })();
  await expect(driver.write(at('/file'), broken, { overwrite: true, sizeBytes: 4_000_000 })).rejects.toThrow('the source broke');
  const refusal = new Error('no');
  const beforePublish = async () => {
    expect(await left()).toHaveLength(1);
    expect(await namesIn(driver, '/')).toEqual(['file']);
    throw refusal;
  };
  await expect(store(driver, '/file', 'new', { beforePublish })).rejects.toBe(refusal);
  expect(await textOf(driver, '/file')).toBe('old');
  await vi.waitFor(async () => expect(await left()).toEqual([]), { timeout: 30_000, interval: 50 });
  await store(driver, '/file', 'new');
  expect(await textOf(driver, '/file')).toBe('new');
});

nothingCountsWhileAway({ wharf, url: gateway.url, token, definition: alistDriver });
