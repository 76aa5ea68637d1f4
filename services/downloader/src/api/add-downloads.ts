import type { EgressPolicy } from '@wharf/egress';
import { createPace } from '@wharf/pace';
import { parseVirtualPath } from '@wharf/paths';
import type { AddDownloadsRequest, AddDownloadsResponse } from '@wharf/proto/downloader';
import { type Call, type LoginOfNow, outgoingCall, type RevisionedCache, type ServiceKit, seal, userOf } from '@wharf/service-kit';
import { type NewTask, wireTask } from '@wharf/task-engine';
import { BUILT_IN_TOOL, type DownloadInput, deletePolicyOf } from '../domain/download-input.ts';
import { acceptedUrls, requestedDigests, requestedUrls, requireMayDownload } from '../domain/download-request.ts';
import { type DownloadTasks, keysOfDownload } from '../tasks/download-tasks.ts';
import type { Tools } from '../tools/tools.ts';

/** fs/add_offline_download: each address becomes a task, in their order; what was queued before a failure stays. */
export const addDownloadsHandler =
  (context: {
    readonly kit: ServiceKit;
    readonly policy: EgressPolicy /** Of tools. */;
    readonly settings: Pick<RevisionedCache<unknown>, 'get'>;
    readonly tools: Tools;
    readonly tasks: DownloadTasks;
    readonly loginOfNow: (call: Call) => Promise<LoginOfNow>;
  }) =>
  async (request: AddDownloadsRequest, call: Call): Promise<AddDownloadsResponse> => {
    const { kit, policy, settings, tools, tasks } = context;
    const user = userOf(call);
    requireMayDownload(user);
    const login = await context.loginOfNow(call);
    const target = await kit.peers.fsWrites.checkTarget({ path: request.path }, outgoingCall(kit.tokens, call));
    const { tool } = request;
    // The newest settings are read: a user who has just changed a tool expects the changed tool.
    await settings.get(call.revisions.admin);
    if (tool !== BUILT_IN_TOOL) await tools.requireReady(tool, call.signal);
    const urls = requestedUrls(request.urls);
    const digests = requestedDigests(request.hashes, tool, urls.length);
    const directory = parseVirtualPath(target.path);
    const creator = { id: user.id, name: user.username, role: user.role };
    const pace = createPace(call.signal);
    const { accepted, refusal } = await acceptedUrls((text) => policy.parseUrl(text), tool, urls, pace);
    const wanted: NewTask<DownloadInput>[] = [];
    for (const { url, shown } of accepted) {
      await pace.step();
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
        keys: keysOfDownload(tool, user.id),
      });
    }
    // A tool answers when it likes, and a storage when it is its turn.
    await login();
    const queued = await tasks.engine.addAll(tasks.kindOf(tool), wanted);
    if (refusal) throw refusal.error;
    return { tasks: queued.map(wireTask) };
  };
