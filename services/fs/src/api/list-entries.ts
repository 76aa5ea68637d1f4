import { AppError } from '@wharf/errors';
import type { DeepPartial, ListEntriesRequest, ListEntriesResponse } from '@wharf/proto/fs';
import type { Call } from '@wharf/service-kit';
import { listEntries, pageOf } from '../domain/list-entries.ts';
import { resolvePath } from '../domain/tree.ts';
import { beginOperation, type FsContext } from './fs-context.ts';
import { toWireEntry } from './wire-entry.ts';

/** Entries in one message of the stream: far below gRPC's limit of 4 MiB, also with the longest names. */
const CHUNK_ENTRIES = 1_000;

/** fs/list. Refreshing needs the right to write there. */
export const listEntriesHandler = (context: FsContext) =>
  async function* (request: ListEntriesRequest, call: Call): AsyncGenerator<DeepPartial<ListEntriesResponse>> {
    const { tree, actor, signal } = await beginOperation(context, call);
    const path = resolvePath(actor, request.path);
    tree.rules.requireAccess(actor, path, request.password);
    const write = tree.rules.canCreateIn(actor, path);
    if (request.refresh && !write) throw new AppError('PERMISSION_DENIED', 'Refresh without permission');
    const page = pageOf(request.page, request.per_page);
    const { entries, total, located } = await listEntries(tree, context.reader, actor, path, { page, refresh: request.refresh, signal });
    const listing = {
      total,
      readme: tree.rules.readme(path),
      header: tree.rules.header(path),
      write,
      write_content_bypass: tree.rules.isWriteBypassed(path),
      provider: located?.mount.definition.name ?? 'unknown',
    };
    const reader = { actor, password: request.password, siteUrl: request.site_url };
    for (let start = 0; start === 0 || start < entries.length; start += CHUNK_ENTRIES) {
      const chunk = entries.slice(start, start + CHUNK_ENTRIES).map((entry) => toWireEntry(tree, reader, located?.mount, path, entry));
      yield start === 0 ? { listing, entries: chunk } : { entries: chunk };
    }
  };
