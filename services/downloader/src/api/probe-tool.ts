import type { ProbeToolRequest, ProbeToolResponse } from '@wharf/proto/downloader';
import type { Call } from '@wharf/service-kit';
import type { AskTool } from '../tools/ask-tool.ts';
import { probeTool } from '../tools/probe-tool.ts';

export const probeToolHandler =
  (context: { readonly ask: AskTool; readonly toolsDir: string }) =>
  async (request: ProbeToolRequest, { signal }: Call): Promise<ProbeToolResponse> => ({
    version: await probeTool(context, request, signal),
  });
