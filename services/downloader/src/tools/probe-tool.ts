import { AppError } from '@wharf/errors';
import { parseToolAddress } from '../domain/tool-address.ts';
import { createAria2Client } from './aria2/aria2-client.ts';
import { requireProxyReached } from './aria2/reach-proxy.ts';
import { viewFolderOfAria2 } from './aria2/view-folder.ts';
import type { AskTool } from './ask-tool.ts';
import { isWrongSetup, probeFolder, type ViewFolder } from './probe-folder.ts';
import { createQbittorrentClient } from './qbittorrent/qbittorrent-client.ts';
import { viewFolderOfQbittorrent } from './qbittorrent/view-folder.ts';
import type { ToolProxy } from './tool-proxy.ts';
import { createTransmissionClient } from './transmission/transmission-client.ts';
import { viewFolderOfTransmission } from './transmission/view-folder.ts';

/** The settings of a tool as the admin entered them, before they are stored. */
export interface ToolSettings {
  /** The name under which clients know it: `aria2`, `qBittorrent`, `Transmission`. */
  readonly tool: string;
  readonly url: string;
  /** Of aria2; the others have it in the address. */
  readonly secret: string;
}

/** What was not found out by then is no error, in milliseconds. */
const FURTHER_PROBE_MS = 8_000;

export interface ProbeContext {
  readonly ask: AskTool;
  readonly toolsDir: string;
  /** What aria2 fetches through. */
  readonly proxy: () => ToolProxy;
}

/**
 * Connects to a tool and looks whether it sees the folder of downloads as we do, and reaches what it has to. @returns its version
 * @throws AppError RECORD_NOT_FOUND: no such tool | FAILED_PRECONDITION: {@link isWrongSetup} | what the client of the tool throws
 */
export async function probeTool(context: ProbeContext, { tool, url, secret }: ToolSettings, signal: AbortSignal): Promise<string> {
  const { version, view, furtherProbe } = openTool(context, { tool, url, secret });
  const answer = await version({ signal });
  await probeFolder(context.toolsDir, tool, view, signal);
  await furtherProbe?.(AbortSignal.any([signal, AbortSignal.timeout(FURTHER_PROBE_MS)])).catch((error: unknown) => {
    if (isWrongSetup(error)) throw error;
  });
  signal.throwIfAborted();
  return answer;
}

interface OpenedTool {
  version(options: { readonly signal: AbortSignal }): Promise<string>;
  readonly view: ViewFolder;
  readonly furtherProbe?: (signal: AbortSignal) => Promise<void>;
}

function openTool({ ask, proxy }: ProbeContext, { tool, url, secret }: ToolSettings): OpenedTool {
  switch (tool) {
    case 'aria2': {
      const client = createAria2Client(ask, parseToolAddress(url), secret);
      return {
        version: client.version,
        view: viewFolderOfAria2(client),
        furtherProbe: (signal) => requireProxyReached(client, proxy(), signal),
      };
    }
    case 'qBittorrent': {
      const client = createQbittorrentClient(ask, parseToolAddress(url));
      return { version: client.version, view: viewFolderOfQbittorrent(client) };
    }
    case 'Transmission': {
      const client = createTransmissionClient(ask, parseToolAddress(url));
      return { version: client.version, view: viewFolderOfTransmission(client) };
    }
    default:
      throw new AppError('RECORD_NOT_FOUND', `tool ${tool} not found`);
  }
}
