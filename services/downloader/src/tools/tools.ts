import { AppError } from '@wharf/errors';
import type { Settings } from '@wharf/models';
import { parseToolAddress } from '../domain/tool-address.ts';
import { createAria2Client } from './aria2/aria2-client.ts';
import { createAria2Tool } from './aria2/aria2-tool.ts';
import type { AskTool } from './ask-tool.ts';
import type { ExternalTool } from './external-tool.ts';
import type { ToolSettings } from './probe-tool.ts';
import { createQbittorrentClient } from './qbittorrent/qbittorrent-client.ts';
import { createQbittorrentTool } from './qbittorrent/qbittorrent-tool.ts';
import type { ToolProxy } from './tool-proxy.ts';
import { createTransmissionClient } from './transmission/transmission-client.ts';
import { createTransmissionTool } from './transmission/transmission-tool.ts';

/** The programs that download for us, as the settings name them. */
export interface Tools {
  /** @throws AppError RECORD_NOT_FOUND: no such tool | INVALID_ARGUMENT: its settings cannot be used */
  get(name: string): Promise<ExternalTool>;
  /** @throws AppError RECORD_NOT_FOUND: no such tool */
  settingsOf(name: string): Promise<ToolSettings>;
  /** Asks a tool whether it is there. @throws AppError FAILED_PRECONDITION telling why not */
  requireReady(name: string, signal: AbortSignal): Promise<void>;
  /** Those that answered lately, sorted. */
  readyNames(signal: AbortSignal): Promise<string[]>;
  /** Minutes that a finished torrent stays in a tool; less than 0: for ever. */
  seedMinutes(name: string): Promise<number>;
}

/** Whether a tool is there is remembered for so long, in milliseconds. */
const REMEMBER_MS = 15_000;
/** A list of tools waits no longer than this for their answers, in milliseconds. */
const PROBE_MS = 2_000;

const SETTINGS = {
  aria2: { address: 'rpcdl_uri', secret: 'rpcdl_secret', seedTime: undefined },
  qBittorrent: { address: 'torrent_url', secret: undefined, seedTime: 'torrent_seedtime' },
  Transmission: { address: 'transmission_uri', secret: undefined, seedTime: 'transmission_seedtime' },
} as const;
type ToolName = keyof typeof SETTINGS;

/** @param options.proxy what aria2 fetches through. */
export function createTools(options: {
  readonly ask: AskTool;
  readonly settings: () => Promise<Settings>;
  readonly clock: () => number;
  readonly proxy: () => ToolProxy;
}): Tools {
  /** A client keeps its login, as long as its settings stay. */
  const known = new Map<ToolName, { readonly key: string; readonly tool: ExternalTool }>();
  const answers = new Map<ToolName, { readonly key: string; readonly at: number; readonly error: AppError | undefined }>();

  const settingsOf = async (tool: ToolName): Promise<ToolSettings> => {
    const settings = await options.settings();
    const { address, secret } = SETTINGS[tool];
    return { tool, url: settings.text(address), secret: secret === undefined ? '' : settings.text(secret) };
  };
  const open = async (name: ToolName): Promise<{ key: string; tool: ExternalTool }> => {
    const settings = await settingsOf(name);
    const key = JSON.stringify(settings);
    const before = known.get(name);
    if (before?.key === key) return before;
    const place = parseToolAddress(settings.url);
    const { ask } = options;
    const create = {
      aria2: () => createAria2Tool(createAria2Client(ask, place, settings.secret), options.proxy()),
      qBittorrent: () => createQbittorrentTool(createQbittorrentClient(ask, place)),
      Transmission: () => createTransmissionTool(createTransmissionClient(ask, place)),
    };
    const opened = { key, tool: create[name]() };
    known.set(name, opened);
    return opened;
  };
  const probe = async (name: ToolName, signal: AbortSignal): Promise<AppError | undefined> => {
    let key = '';
    try {
      const opened = await open(name);
      key = opened.key;
      const before = answers.get(name);
      if (before?.key === key && options.clock() - before.at < REMEMBER_MS) return before.error;
      await opened.tool.version(signal);
      answers.set(name, { key, at: options.clock(), error: undefined });
      return undefined;
    } catch (error) {
      const known = AppError.from(error);
      if (key !== '' && known.code !== 'CANCELLED') answers.set(name, { key, at: options.clock(), error: known });
      return known;
    }
  };

  return {
    get: async (name) => (await open(toolNameOf(name))).tool,
    settingsOf: async (name) => settingsOf(toolNameOf(name)),
    async requireReady(name, signal) {
      if (!isToolName(name))
        throw new AppError('RECORD_NOT_FOUND', `failed get offline download tool: tool ${name.slice(0, 100)} not found`);
      answers.delete(name);
      const error = await probe(name, signal);
      if (error) throw new AppError('FAILED_PRECONDITION', `failed init offline download tool ${name}: ${error.message}`, { cause: error });
    },
    async readyNames(signal) {
      const limit = AbortSignal.any([signal, AbortSignal.timeout(PROBE_MS)]);
      const names = Object.keys(SETTINGS).filter(isToolName);
      const ready = await Promise.all(names.map(async (name) => ((await probe(name, limit)) ? [] : [name])));
      return ready.flat().sort();
    },
    async seedMinutes(name) {
      const key = isToolName(name) ? SETTINGS[name].seedTime : undefined;
      return key === undefined ? 0 : (await options.settings()).number(key, 0);
    },
  };
}

function toolNameOf(name: string): ToolName {
  if (!isToolName(name)) throw new AppError('RECORD_NOT_FOUND', `tool ${name.slice(0, 100)} not found`);
  return name;
}

function isToolName(name: string): name is ToolName {
  return Object.hasOwn(SETTINGS, name);
}
