import type { ProbeToolRequest, ProbeToolResponse } from '@wharf/proto/downloader';
import type { Call } from '@wharf/service-kit';
import { type ProbeContext, probeTool } from '../tools/probe-tool.ts';

export const probeToolHandler =
  (context: ProbeContext) =>
  async (request: ProbeToolRequest, { signal }: Call): Promise<ProbeToolResponse> => ({
    version: await probeTool(context, request, signal),
  });
