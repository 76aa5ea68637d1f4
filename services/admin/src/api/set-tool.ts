import { AppError } from '@wharf/errors';
import type {
  SetRpcDownloadToolRequest,
  SetRpcDownloadToolResponse,
  SetTorrentToolRequest,
  SetTorrentToolResponse,
  SetTransmissionToolRequest,
  SetTransmissionToolResponse,
} from '@wharf/proto/admin';
import type { Call, LoginOfNow } from '@wharf/service-kit';
import type { ProbeTool } from '../clients/download-tools.ts';
import { planSave } from '../domain/plan-save.ts';
import { toolItems } from '../domain/setting-items.ts';
import type { AnnounceChange } from '../events/announce-change.ts';
import type { SettingStore } from '../store/setting-store.ts';

interface Parts {
  readonly settings: SettingStore;
  readonly probe: ProbeTool;
  readonly announceChange: AnnounceChange;
  readonly loginOfNow: (call: Call) => Promise<LoginOfNow>;
}

/** Stands for an empty field of the form: what was fetched is removed at once. */
const NO_SEED_TIME = '0';

export const setRpcDownloadTool =
  (parts: Parts) =>
  async ({ uri, secret }: SetRpcDownloadToolRequest, call: Call): Promise<SetRpcDownloadToolResponse> =>
    setTool(parts, call, { rpcdl_uri: uri, rpcdl_secret: secret }, () =>
      // The family has one error for an address that is not valid, and another for a tool that does not answer.
      explain('failed get aria2 version', () => parts.probe(call, 'aria2', uri, secret), 'failed to init aria2 client'),
    );

export const setTorrentTool =
  (parts: Parts) =>
  async ({ url, seedtime }: SetTorrentToolRequest, call: Call): Promise<SetTorrentToolResponse> =>
    setTool(parts, call, { torrent_url: url, torrent_seedtime: seedtime || NO_SEED_TIME }, () =>
      explain('failed to init qBittorrent client', () => parts.probe(call, 'qBittorrent', url, '')),
    );

export const setTransmissionTool =
  (parts: Parts) =>
  async ({ uri, seedtime }: SetTransmissionToolRequest, call: Call): Promise<SetTransmissionToolResponse> =>
    setTool(parts, call, { transmission_uri: uri, transmission_seedtime: seedtime || NO_SEED_TIME }, () =>
      explain('failed to init transmission client', () => parts.probe(call, 'Transmission', uri, '')),
    );

/** Everything is checked and the tool has answered before anything is stored. */
async function setTool(
  { settings, announceChange, loginOfNow }: Parts,
  call: Call,
  values: Readonly<Record<string, string>>,
  probe: () => Promise<string>,
): Promise<{ version: string; revision: number }> {
  const login = await loginOfNow(call);
  const items = toolItems(values);
  planSave(await settings.read(), items);
  const version = await probe();
  // It answers when it likes.
  await login();
  await settings.change((saved) => planSave(saved, items));
  return { version, revision: await announceChange() };
}

/** The admin gets the tool's error, with the name of the failed step in front. */
async function explain(prefix: string, probe: () => Promise<string>, addressPrefix = prefix): Promise<string> {
  try {
    return await probe();
  } catch (error) {
    const { code, message } = AppError.from(error);
    if (code === 'CANCELLED' || code === 'INTERNAL') throw error;
    throw new AppError('FAILED_PRECONDITION', `${code === 'INVALID_ARGUMENT' ? addressPrefix : prefix}: ${message}`, { cause: error });
  }
}
