import type { EntryName } from '@wharf/paths';
import { describe, expect, it } from 'vitest';
import { actor, openTree, vpath } from '../domain/testing/memory-tree.ts';
import { locate } from '../domain/tree.ts';
import type { Entry } from '../driver-contract/storage-driver.ts';
import { createPageWriter } from './page-writer.ts';

const ENTRIES: readonly Entry[] = [{ name: 'a.txt' as EntryName, isDirectory: false, sizeBytes: 1, modifiedAt: new Date(0) }];

/** Writes the same entries again and again, each time for somebody who is an object of his own, as each request has one. */
async function openPages() {
  const { tree } = await openTree({ storages: [{ enable_sign: true }], rules: [{ path: '/a.txt', read_users: [7] }] });
  const pages = createPageWriter();
  const { mount } = locate(tree, vpath('/'));
  const frame = (who: Parameters<typeof actor>[0], rest: { password?: string; siteUrl?: string }) => ({
    tree,
    mount,
    directory: vpath('/'),
    reader: { actor: actor(who), password: '', siteUrl: 'http://here', ...rest },
  });
  return (who = {}, rest = {}) => pages.write(ENTRIES, frame(who, rest));
}

describe('the texts of a page', () => {
  it('are written once for the same reader', async () => {
    const write = await openPages();
    expect(write()).toBe(write());
  });

  it.each([
    ['user', { id: 8 }, {}],
    ['role', { role: 2 }, {}],
    ['bits', { permission: 0 }, {}],
    ['root', { basePath: vpath('/x') }, {}],
    ['password', {}, { password: 'x' }],
    ['address', {}, { siteUrl: 'http://there' }],
  ])('are written anew for another %s', async (_what, who, rest) => {
    const write = await openPages();
    const first = write();
    expect(write(who, rest)).not.toBe(first);
  });

  it('have no signature for whom the file is closed to, whoever read them before', async () => {
    const write = await openPages();
    expect(write()[0]).toMatch(/"sign":"[^"]+:0"/);
    expect(write({ id: 8 })[0]).toContain('"sign":""');
  });
});
