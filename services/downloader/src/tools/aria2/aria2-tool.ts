import { randomBytes } from 'node:crypto';
import { AppError } from '@wharf/errors';
import { listOf } from '@wharf/pace/list-of';
import { z } from 'zod';
import type { ExternalTool, ToolStatus } from '../external-tool.ts';
import type { ToolProxy } from '../tool-proxy.ts';
import { understood } from '../understood.ts';
import type { Aria2Client } from './aria2-client.ts';

/** Kept with the task; several of a metalink are parted by commas. */
const idShape = z.string().regex(/^[^,]{1,64}$/);
const statusShape = z.object({
  status: z.enum(['active', 'waiting', 'paused', 'error', 'complete', 'removed']),
  totalLength: z.coerce.number(),
  completedLength: z.coerce.number(),
  uploadLength: z.coerce.number().default(0),
  seeder: z.string().optional(),
  infoHash: z.string().optional(),
  connections: z.coerce.number().default(0),
  errorMessage: z.string().optional(),
  followedBy: listOf(idShape).optional(),
});
const FIELDS = Object.keys(statusShape.shape);
/** Of a metalink there is one download for each of its addresses at most (`vet-source.ts`); each is asked for by itself, again and again. */
const MAX_DOWNLOADS = 500;
const placesShape = listOf(z.object({ gid: idShape, dir: z.string() }));
/** So many of those that came last, from the end on. */
const LATEST = [-1, 2 * MAX_DOWNLOADS] as const;
const idsShape = z.union([idShape, listOf(idShape).refine((ids) => ids.length > 0 && ids.length <= MAX_DOWNLOADS)]);
/** What aria2 says of a download it does not know. */
const UNKNOWN = /not found|No such download/i;

type Proxy = Pick<ToolProxy, 'url' | 'username' | 'password'>;

/** What aria2 has a proxy for. Its own settings and its environment may name one for each, which would be taken instead of that for all. */
const PROXIED = ['all', 'http', 'https', 'ftp'];

/** Options of a download that make every HTTP connection of it go through our proxy. */
export function throughProxy({ url, username, password }: Proxy): Record<string, string> {
  const proxies = PROXIED.flatMap((kind) => [
    [`${kind}-proxy`, url],
    [`${kind}-proxy-user`, username],
    [`${kind}-proxy-passwd`, password],
  ]);
  return { ...Object.fromEntries(proxies), 'proxy-method': 'tunnel', 'no-proxy': '' };
}

/** @param proxy what every HTTP connection that aria2 makes for us goes through. */
export function createAria2Tool(client: Aria2Client, proxy: Proxy): ExternalTool {
  const options = (dir: string) => ({
    dir,
    ...throughProxy(proxy),
    // The addresses in a torrent or a metalink are vetted before it is handed over. A torrent or metalink that was downloaded is treated as
    // a plain file.
    'follow-torrent': 'false',
    'follow-metalink': 'false',
    'allow-overwrite': 'true',
    'auto-file-renaming': 'false',
    continue: 'true',
    'seed-time': '0',
    'bt-enable-lpd': 'false',
    'rpc-save-upload-metadata': 'false',
    'bt-save-metadata': 'false',
    'check-certificate': 'true',
    // aria2 keeps the cookies and logins of all its downloads together: those of one user are none of another's. Nor are those of its own, which it says to
    // every server, or to those in its .netrc; of FTP these are its defaults.
    header: 'Cookie:',
    'http-auth-challenge': 'false',
    'no-netrc': 'true',
    'http-user': '',
    'http-passwd': '',
    'ftp-user': 'anonymous',
    'ftp-passwd': 'ARIA2USER@',
    // It would go on for another one in a connection that is logged in, of FTP or SFTP, whose user name is the same, whatever the password.
    'ftp-reuse-connection': 'false',
  });
  const forget = async (method: string, id: string, signal: AbortSignal) => {
    try {
      await client.call(method, [id], { signal });
    } catch (error) {
      if (!AppError.is(error, 'FAILED_PRECONDITION')) throw error;
    }
  };
  const remove = async (id: string, signal: AbortSignal) => {
    await forget('aria2.forceRemove', id, signal);
    await forget('aria2.removeDownloadResult', id, signal);
  };
  return {
    name: 'aria2',
    kinds: new Set(['url', 'magnet', 'torrent', 'metalink'] as const),
    needsReplica: true,
    // A metalink may become several downloads.
    newId: (source) => (source.kind === 'metalink' ? undefined : randomBytes(8).toString('hex')),
    async add(source, directory, signal, id) {
      // Those of a call whose answer was lost may go through the proxy of a replica that has ended.
      for (const begun of id === undefined ? await idsIn(client, directory, signal) : []) await remove(begun, signal);
      const given = { ...options(directory), ...(id === undefined ? {} : { gid: id }) };
      const answer = await (source.kind === 'torrent'
        ? client.call('aria2.addTorrent', [source.content.toString('base64'), [], given], { signal })
        : source.kind === 'metalink'
          ? client.call('aria2.addMetalink', [source.content.toString('base64'), given], { signal })
          : client.call('aria2.addUri', [[source.url], given], { signal }));
      const ids = idsShape.safeParse(answer).data;
      if (ids === undefined) throw new AppError('UNSUPPORTED_OPERATION', 'aria2 does not say which download it made');
      return typeof ids === 'string' ? ids : ids.join(',');
    },
    // Its ids are of one download, whatever that is of.
    async find(id, _directory, signal) {
      // A metalink may have become several downloads.
      const all: ToolStatus[] = [];
      for (const one of id.split(',')) {
        const status = await statusOf(client, one, signal);
        if (!status) return undefined;
        all.push(status);
      }
      const [first] = all;
      if (all.length <= 1) return first;
      const worst = (['failed', 'active', 'paused'] as const).find((state) => all.some((status) => status.state === state)) ?? 'complete';
      const sum = (of: (status: ToolStatus) => number) => all.reduce((total, status) => total + of(status), 0);
      const error = all.find((status) => status.error !== '')?.error ?? '';
      return { state: worst, doneBytes: sum((s) => s.doneBytes), totalBytes: sum((s) => s.totalBytes), detail: worst, error };
    },
    async pause(id, signal) {
      for (const one of id.split(',')) await forget('aria2.forcePause', one, signal);
    },
    async resume(id, signal) {
      for (const one of id.split(',')) await forget('aria2.unpause', one, signal);
    },
    async remove(id, _directory, signal) {
      for (const one of id.split(',')) await remove(one, signal);
    },
    async removeFrom(directory, signal) {
      for (const left of await idsIn(client, directory, signal)) await remove(left, signal);
    },
    version: (signal) => client.version({ signal }),
  };
}

/** What downloads into a folder: of a call whose answer was lost, as a metalink has no id beforehand. */
async function idsIn(client: Aria2Client, directory: string, signal: AbortSignal): Promise<string[]> {
  const ids: string[] = [];
  for (const [method, page] of [
    ['aria2.tellActive', []],
    ['aria2.tellWaiting', LATEST],
    ['aria2.tellStopped', LATEST],
  ] as const) {
    const found = understood('aria2', placesShape, await client.call(method, [...page, ['gid', 'dir']], { signal }));
    ids.push(...found.filter(({ dir }) => dir === directory).map(({ gid }) => gid));
  }
  return [...new Set(ids)];
}

async function statusOf(client: Aria2Client, id: string, signal: AbortSignal): Promise<ToolStatus | undefined> {
  let answer: unknown;
  try {
    answer = await client.call('aria2.tellStatus', [id, FIELDS], { signal });
  } catch (error) {
    if (AppError.is(error, 'FAILED_PRECONDITION') && UNKNOWN.test(error.message)) return undefined;
    throw error;
  }
  const status = understood('aria2', statusShape, answer);
  if (status.status === 'removed') return undefined;
  const isDone = status.status === 'complete' || (status.seeder === 'true' && status.totalLength === status.completedLength);
  const followedBy = status.status === 'complete' ? status.followedBy?.[0] : undefined;
  return {
    state: isDone ? 'complete' : status.status === 'error' ? 'failed' : status.status === 'paused' ? 'paused' : 'active',
    doneBytes: status.completedLength,
    totalBytes: status.totalLength,
    detail: `${status.status}, ${status.connections} connections`,
    error: status.errorMessage ?? '',
    ...(followedBy === undefined ? {} : { followedBy }),
  };
}
