import { type DownloadTool, type Missing, startAria2, startQbittorrent, startTransmission } from '@wharf/harness';

/** A download tool, and how Wharf is told of it. */
export interface ToolCase {
  readonly name: string;
  readonly start: () => Promise<DownloadTool | Missing>;
  readonly settings: (tool: DownloadTool) => readonly [route: string, body: Record<string, string>];
}

export const TOOL_CASES: readonly ToolCase[] = [
  { name: 'aria2', start: startAria2, settings: ({ url, password }) => ['set_rpcdl', { uri: url, secret: password }] },
  { name: 'qBittorrent', start: startQbittorrent, settings: (tool) => ['set_torrent', { url: withLogin(tool), seedtime: '0' }] },
  { name: 'Transmission', start: startTransmission, settings: (tool) => ['set_transmission', { uri: withLogin(tool), seedtime: '0' }] },
];

function withLogin({ url, username, password }: DownloadTool): string {
  return Object.assign(new URL(url), { username, password }).href;
}
