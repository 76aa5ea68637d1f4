import { AppError } from '@wharf/errors';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type Installation, openInstallation } from './installation.ts';
import { asLogin, errorOf, type Replica, SOMEBODY } from './replica.ts';

let installation: Installation;
let replica: Replica;

beforeAll(async () => {
  installation = await openInstallation();
});
beforeEach(async () => {
  replica = await installation.open();
});
afterEach(() => installation.clear());
afterAll(() => installation?.close());

const values = async (...keys: string[]) => (await replica.admin.getSettings({ keys }, replica.as())).items.map(({ value }) => value);

describe('a download tool', () => {
  it('is stored after it answered, under both names, and everybody is told', async () => {
    installation.downloader.answers.set('aria2', '1.36.0');
    const { version, revision } = await replica.admin.setRpcDownloadTool({ uri: 'http://h:1/jsonrpc', secret: 'canary' }, replica.as());
    expect(version).toBe('1.36.0');
    expect(installation.downloader.asked).toEqual([{ tool: 'aria2', url: 'http://h:1/jsonrpc', secret: 'canary' }]);
    expect(await values('rpcdl_uri', 'aria2_uri', 'aria2_secret')).toEqual(['http://h:1/jsonrpc', 'http://h:1/jsonrpc', 'canary']);
    expect(replica.events.at(-1)).toEqual({ revision });
    expect(JSON.stringify(await replica.models.settings.find().lean()) + replica.log()).not.toContain('canary');
  });

  it('is stored with its seed time', async () => {
    installation.downloader.answers.set('qBittorrent', 'v4.5.2').set('Transmission', '3.00');
    await replica.admin.setTorrentTool({ url: 'http://u:p@h:2/', seedtime: '30' }, replica.as());
    await replica.admin.setTransmissionTool({ uri: 'http://h:3/transmission/rpc', seedtime: '-1' }, replica.as());
    expect(await values('qbittorrent_url', 'torrent_seedtime', 'transmission_uri', 'transmission_seedtime')).toEqual([
      ...['http://u:p@h:2/', '30'],
      ...['http://h:3/transmission/rpc', '-1'],
    ]);
  });

  it.each([
    ['setRpcDownloadTool', { uri: 'http://h:1/', secret: '' }, 'failed get aria2 version'],
    ['setTorrentTool', { url: 'http://h:1/', seedtime: '0' }, 'failed to init qBittorrent client'],
    ['setTransmissionTool', { uri: 'http://h:1/', seedtime: '0' }, 'failed to init transmission client'],
  ] as const)('that does not answer %s is not stored', async (method, request, prefix) => {
    const before = await values('rpcdl_uri', 'torrent_url', 'transmission_uri');
    expect(await errorOf(replica.admin[method](request, replica.as()))).toMatchObject({
      code: 'FAILED_PRECONDITION',
      message: `${prefix}: host refuses connections`,
    });
    expect(await values('rpcdl_uri', 'torrent_url', 'transmission_uri')).toEqual(before);
  });

  it('is not asked when what came with it cannot be stored', async () => {
    const bad = replica.admin.setTorrentTool({ url: 'http://h:1/', seedtime: 'long' }, replica.as());
    expect((await errorOf(bad)).message).toBe('failed to execute hook on torrent_seedtime: must be an integer');
    expect(installation.downloader.asked).toEqual([]);
  });

  it('that is at no address fails before its version is asked for', async () => {
    installation.downloader.answers.set('aria2', new AppError('INVALID_ARGUMENT', 'the address must start with http:// or https://'));
    expect((await errorOf(replica.admin.setRpcDownloadTool({ uri: '', secret: '' }, replica.as()))).message).toBe(
      'failed to init aria2 client: the address must start with http:// or https://',
    );
  });

  it('is not stored where the login of whoever enters it ends before it has answered', async () => {
    const { models } = replica;
    const as = await asLogin(replica, 'ends');
    installation.downloader.answers.set('aria2', '1.36.0');
    installation.downloader.beforeAnswer = async () => void (await models.sessions.deleteOne({ _id: 'ends' }));
    const before = await values('rpcdl_uri');
    expect((await errorOf(replica.admin.setRpcDownloadTool({ uri: 'http://h:1/', secret: '' }, as))).code).toBe('UNAUTHENTICATED');
    expect(await values('rpcdl_uri')).toEqual(before);
  });

  it('is for administrators', async () => {
    const as = replica.as(SOMEBODY);
    for (const method of ['setRpcDownloadTool', 'setTorrentTool', 'setTransmissionTool'] as const)
      expect((await errorOf(replica.admin[method]({}, as))).code).toBe('PERMISSION_DENIED');
    expect(installation.downloader.asked).toEqual([]);
  });
});
