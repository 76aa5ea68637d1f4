import { type Api, at } from '@wharf/harness';

/** What `fixtures/bacfa88` was made with; see its README. */
export const OLD = {
  adminPassword: 'admin of bacfa88',
  secret: 'secret-of-the-fixture-bacfa88-secret-of-the-fixture',
  otto: { username: 'otto', password: 'otto of bacfa88' },
  rita: { username: 'rita', password: 'rita of bacfa88' },
  rulePassword: 'open sesame',
  passphrase: 'passphrase of bacfa88',
  /** Where the downloads of the fixture come from: an address of the loopback network that nothing else uses. */
  source: { host: '127.77.13.25', port: 18_077 },
} as const;

/** What the downloads of the fixture are to have: text, so that a part of it takes little room. */
export function sourceContent(name: string): Buffer {
  return Buffer.from(`${name} of bacfa88\n`.repeat(200_000).slice(0, 3 * 1024 * 1024));
}

/** The requests, as the admin, whose answers were kept in `facts.json`. */
export const ADMIN_READS = [
  '/api/admin/storage/list',
  '/api/admin/meta/list',
  '/api/admin/user/list',
  '/api/admin/setting/list',
  '/api/admin/user/sshkey/list?uid=3',
  '/api/me',
] as const;

/** What a listing tells: its code and text, and of each entry what does not change by itself. */
export async function listed(caller: Api, path: string, password = ''): Promise<unknown> {
  const { code, message, data } = await caller.post('/api/fs/list', { path, password, page: 1, per_page: 0 });
  const content = at(data, 'content');
  const entries = Array.isArray(content)
    ? content.map((entry) => [at(entry, 'name'), at(entry, 'is_dir'), at(entry, 'size'), at(entry, 'sign')])
    : content;
  return { code, message, entries, readme: at(data, 'readme') ?? null, header: at(data, 'header') ?? null };
}
