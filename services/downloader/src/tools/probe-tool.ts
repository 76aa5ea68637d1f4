import { AppError } from '@wharf/errors';
import { createAria2Client } from './aria2/aria2-client.ts';
import { viewFolderOfAria2 } from './aria2/view-folder.ts';
import type { AskTool } from './ask-tool.ts';
import { probeFolder } from './probe-folder.ts';
import { createQbittorrentClient } from './qbittorrent/qbittorrent-client.ts';
import { viewFolderOfQbittorrent } from './qbittorrent/view-folder.ts';
import { parseToolAddress } from './tool-address.ts';
import { createTransmissionClient } from './transmission/transmission-client.ts';
import { viewFolderOfTransmission } from './transmission/view-folder.ts';

/** What an administrator entered for a tool, before it is stored. */
export interface ToolSettings {
  /** The name under which clients know it: `aria2`, `qBittorrent`, `Transmission`. */
  readonly tool: string;
  readonly url: string;
  /** Of aria2; the others have it in the address. */
  readonly secret: string;
}

/**
 * Connects to a tool and looks whether it sees the folder of downloads as we do. @returns its version
 * @throws AppError RECORD_NOT_FOUND: no such tool | FAILED_PRECONDITION: as {@link probeFolder} | what the client of the tool throws
 */
export async function probeTool(
  { ask, toolsDir }: { readonly ask: AskTool; readonly toolsDir: string },
  { tool, url, secret }: ToolSettings,
  signal: AbortSignal,
): Promise<string> {
  const { version, view } = openTool(ask, { tool, url, secret });
  const answer = await version({ signal });
  await probeFolder(toolsDir, tool, view, signal);
  return answer;
}

function openTool(ask: AskTool, { tool, url, secret }: ToolSettings) {
  switch (tool) {
    case 'aria2': {
      const client = createAria2Client(ask, parseToolAddress(url), secret);
      return { version: client.version, view: viewFolderOfAria2(client) };
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
