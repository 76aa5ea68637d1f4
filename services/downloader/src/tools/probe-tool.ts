import { AppError } from '@wharf/errors';
import { createAria2Client } from './aria2/aria2-client.ts';
import type { AskTool } from './ask-tool.ts';
import { createQbittorrentClient } from './qbittorrent/qbittorrent-client.ts';
import { parseToolAddress } from './tool-address.ts';
import { createTransmissionClient } from './transmission/transmission-client.ts';

/** What an administrator entered for a tool, before it is stored. */
export interface ToolSettings {
  /** The name under which clients know it: `aria2`, `qBittorrent`, `Transmission`. */
  readonly tool: string;
  readonly url: string;
  /** Of aria2; the others have it in the address. */
  readonly secret: string;
}

/** Connects to a tool and answers its version. @throws AppError RECORD_NOT_FOUND: no such tool | what the client of the tool throws */
export async function probeTool(ask: AskTool, { tool, url, secret }: ToolSettings, signal: AbortSignal): Promise<string> {
  switch (tool) {
    case 'aria2':
      return createAria2Client(ask, parseToolAddress(url), secret).version({ signal });
    case 'qBittorrent':
      return createQbittorrentClient(ask, parseToolAddress(url)).version({ signal });
    case 'Transmission':
      return createTransmissionClient(ask, parseToolAddress(url)).version({ signal });
    default:
      throw new AppError('RECORD_NOT_FOUND', `tool ${tool} not found`);
  }
}
