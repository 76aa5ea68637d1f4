import { type Call, outgoingCall, type ServiceKit } from '@wharf/service-kit';

/** The names under which the downloader knows its tools. */
export type ToolName = 'aria2' | 'qBittorrent' | 'Transmission';

/** Lets the downloader connect to a tool, which is where downloads will come from, and answers the tool's version. */
export type ProbeTool = (call: Call, tool: ToolName, url: string, secret: string) => Promise<string>;

export function createProbeTool({ name, peers, tokens }: Pick<ServiceKit, 'name' | 'peers' | 'tokens'>): ProbeTool {
  return async ({ requestId, signal }, tool, url, secret) => {
    const call = { identity: { kind: 'service', name } as const, requestId, revisions: { auth: 0, admin: 0 }, signal };
    return (await peers.downloader.probeTool({ tool, url, secret }, outgoingCall(tokens, call))).version;
  };
}
