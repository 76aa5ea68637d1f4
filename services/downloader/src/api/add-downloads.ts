import type { EgressPolicy } from '@wharf/egress';
import { AppError } from '@wharf/errors';
import { parseVirtualPath } from '@wharf/paths';
import type { AddDownloadsRequest, AddDownloadsResponse } from '@wharf/proto/downloader';
import { hasPermission } from '@wharf/rights';
import { type Call, outgoingCall, type RevisionedCache, type ServiceKit, seal, userOf } from '@wharf/service-kit';
import { type NewTask, wireTask } from '@wharf/task-engine';
import { parseDigests } from '../domain/digests.ts';
import { BUILT_IN_TOOL, type DownloadInput, deletePolicyOf } from '../domain/download-input.ts';
import type { DownloadTasks } from '../tasks/download-tasks.ts';
import type { Tools } from '../tools/tools.ts';
import { checkToolUrl } from '../tools/vet-source.ts';

/** Of one address. */
const MAX_URL_LENGTH = 8_192;
/** Of one call. */
const MAX_URLS = 1_000;

/** fs/add_offline_download: each address becomes a task, in their order; what was queued before a failure stays. */
export const addDownloadsHandler =
  (context: {
    readonly kit: ServiceKit;
    readonly policy: EgressPolicy /** Of tools. */;
    readonly settings: Pick<RevisionedCache<unknown>, 'get'>;
    readonly tools: Tools;
    readonly tasks: DownloadTasks;
  }) =>
  async (request: AddDownloadsRequest, call: Call): Promise<AddDownloadsResponse> => {
    const { kit, policy, settings, tools, tasks } = context;
    const user = userOf(call);
    if (!hasPermission(user, 'offline_download')) throw new AppError('PERMISSION_DENIED', 'permission denied');
    const target = await kit.peers.fsWrites.checkTarget({ path: request.path }, outgoingCall(kit.tokens, call));
    const { tool } = request;
    // Whoever changed a tool a moment ago means the tool as it is now.
    await settings.get(call.revisions.admin);
    if (tool !== BUILT_IN_TOOL) await tools.requireReady(tool, call.signal);
    const urls = request.urls.map((url) => url.trim()).filter((url) => url !== '');
    if (urls.length > MAX_URLS) throw new AppError('INVALID_ARGUMENT', `at most ${MAX_URLS} addresses at a time`);
    const digests = parseDigests(request.hashes);
    if (Object.keys(digests).length > 0) {
      if (tool !== BUILT_IN_TOOL) throw new AppError('UNSUPPORTED_OPERATION', `hashes are for ${BUILT_IN_TOOL} only`);
      if (urls.length !== 1) throw new AppError('INVALID_ARGUMENT', 'hashes are for one address');
    }
    const directory = parseVirtualPath(target.path);
    const creator = { id: user.id, name: user.username, role: user.role };
    const wanted: NewTask<DownloadInput>[] = [];
    let refusal: unknown;
    for (const url of urls) {
      let shown: string;
      try {
        shown = checkUrl(policy, tool, url);
      } catch (error) {
        refusal = error;
        break;
      }
      wanted.push({
        name: `download ${shown} to (${directory})`,
        creator,
        input: {
          url: seal(kit.keys.atRest, url),
          tool,
          directory,
          mountPath: target.mount_path,
          innerPath: target.inner_path,
          deletePolicy: deletePolicyOf(request.delete_policy),
          digests,
        },
        keys: [`tool:${tool}`, `user:${user.id}`],
      });
    }
    const queued = await tasks.engine.addAll(tasks.kindOf(tool), wanted);
    if (refusal !== undefined) throw refusal;
    return { tasks: queued.map(wireTask) };
  };

/**
 * What can be said of an address before it is fetched. @returns the address as it is shown: without its password
 * @throws AppError FAILED_PRECONDITION | UNSUPPORTED_OPERATION: clients expect 500 for each
 */
function checkUrl(policy: EgressPolicy, tool: string, text: string): string {
  if (text.length > MAX_URL_LENGTH) throw new AppError('FAILED_PRECONDITION', 'the address is too long');
  try {
    if (tool !== BUILT_IN_TOOL) checkToolUrl(policy, text);
    if (/^magnet:/i.test(text) && tool !== BUILT_IN_TOOL) return text;
    const url = policy.parseUrl(text);
    if (url.username === '' && url.password === '') return text;
    url.username = '';
    url.password = '';
    return url.href;
  } catch (error) {
    if (AppError.is(error, 'UNSUPPORTED_OPERATION')) throw error;
    throw new AppError('FAILED_PRECONDITION', AppError.from(error).message, { cause: error });
  }
}
