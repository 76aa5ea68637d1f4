import { AppError } from '@wharf/errors';
import type { Settings } from '@wharf/models';
import { isYounger, unlessAborted } from '@wharf/pace';
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
/** As clients know them. */
export const TOOL_NAMES: readonly string[] = Object.keys(SETTINGS);

/** A tool as the settings name it. */
interface Opened {
  /** Tells its settings from others. */
  readonly key: string;
  readonly tool: ExternalTool;
}

/** @param options.proxy what aria2 fetches through. */
export function createTools(options: {
  readonly ask: AskTool;
  readonly settings: () => Promise<Settings>;
  readonly clock: () => number;
  readonly proxy: () => ToolProxy;
}): Tools {
  /** A client keeps its login, as long as its settings stay. */
  const known = new Map<ToolName, Opened>();
  const answers = new Map<ToolName, { readonly key: string; readonly at: number; readonly error: AppError | undefined }>();
  const looks = new Map<ToolName, { readonly key: string; readonly answer: Promise<AppError | undefined> }>();

  const settingsOf = async (tool: ToolName): Promise<ToolSettings> => {
    const settings = await options.settings();
    const { address, secret } = SETTINGS[tool];
    return { tool, url: settings.text(address), secret: secret === undefined ? '' : settings.text(secret) };
  };
  const open = async (name: ToolName): Promise<Opened> => {
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
  /** Asks for as long as requests may take, whoever goes: what comes of it is for all. */
  const look = async (name: ToolName, { key, tool }: Opened): Promise<AppError | undefined> => {
    const error = await tool.version(new AbortController().signal).then(() => undefined, AppError.from);
    answers.set(name, { key, at: options.clock(), error });
    return error;
  };
  /** One look at a time, however many ask. */
  const shared = (name: ToolName, opened: Opened): Promise<AppError | undefined> => {
    const before = looks.get(name);
    if (before?.key === opened.key) return before.answer;
    const begun = { key: opened.key, answer: look(name, opened) };
    looks.set(name, begun);
    const end = () => looks.get(name) === begun && looks.delete(name);
    begun.answer.then(end, end);
    return begun.answer;
  };
  const isReady = async (name: ToolName, signal: AbortSignal): Promise<boolean> => {
    const opened = await open(name);
    const before = answers.get(name);
    const isKnown = before?.key === opened.key && isYounger(before.at, options.clock(), REMEMBER_MS);
    return (isKnown ? before.error : await unlessAborted(signal, shared(name, opened))) === undefined;
  };

  return {
    get: async (name) => (await open(toolNameOf(name))).tool,
    settingsOf: async (name) => settingsOf(toolNameOf(name)),
    async requireReady(name, signal) {
      if (!isToolName(name))
        throw new AppError('RECORD_NOT_FOUND', `failed get offline download tool: tool ${name.slice(0, 100)} not found`);
      const error = await open(name).then((opened) => unlessAborted(signal, shared(name, opened)), AppError.from);
      if (error) throw new AppError('FAILED_PRECONDITION', `failed init offline download tool ${name}: ${error.message}`, { cause: error });
    },
    async readyNames(signal) {
      const limit = AbortSignal.any([signal, AbortSignal.timeout(PROBE_MS)]);
      const names = Object.keys(SETTINGS).filter(isToolName);
      const ready = await Promise.all(
        names.map((name) =>
          isReady(name, limit).then(
            (is) => (is ? [name] : []),
            () => [],
          ),
        ),
      );
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
