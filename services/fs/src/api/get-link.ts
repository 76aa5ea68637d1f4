import { AppError } from '@wharf/errors';
import { VIRTUAL_ROOT } from '@wharf/paths';
import type { GetLinkRequest, GetLinkResponse } from '@wharf/proto/fs';
import { type Call, shareKeyOf, userOf } from '@wharf/service-kit';
import { actorOf, type FsContext } from '../context.ts';
import { getEntry } from '../domain/reading/get-entry.ts';
import { encodePath, signature } from '../domain/reading/links.ts';
import { resolvePath } from '../domain/snapshot/snapshot.ts';

/** fs/link: an address at which we serve the bytes, past any download proxy. */
export const getLinkHandler =
  (context: FsContext) =>
  async (request: GetLinkRequest, call: Call): Promise<GetLinkResponse> => {
    const snapshot = await context.configuration.snapshot(call.revisions);
    const path = resolvePath({ ...actorOf(userOf(call)), basePath: VIRTUAL_ROOT }, request.path);
    const { entry } = await getEntry(snapshot, path, { signal: call.signal, caller: shareKeyOf(call) });
    if (entry.isDirectory) throw new AppError('IS_A_DIRECTORY', 'not a file');
    const url = `${request.site_url}/p${encodePath(path)}?d&sign=${encodeURIComponent(signature(snapshot, path))}`;
    return { url, header: {}, content_length: entry.sizeBytes ?? 0 };
  };
