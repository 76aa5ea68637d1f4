import { access, chown, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import http from 'node:http';
import path from 'node:path';
import { buffer } from 'node:stream/consumers';
import { ensureCommand, isAvailable, isMissing, startApacheDav, startHttpServer } from '@wharf/harness';
import { afterAll, describe, expect, it, onTestFinished } from 'vitest';
import { at, namesIn, refuses } from '../../src/driver-contract/conformance/driver-calls.ts';
import type { StorageDriver } from '../../src/driver-contract/storage-driver.ts';
import { opened } from '../../src/drivers/rclone/testing/type-suite.ts';

const program = await ensureCommand('rclone', 'rclone');
const dav = await startApacheDav();
/** The user that Apache's workers are, where it is started by root. */
const OWNER = 33;

describe.runIf(isAvailable('rclone', program) && isAvailable('webdav', dav))('what rclone does not list of a WebDAV server', () => {
  if (isMissing(program) || isMissing(dav)) return;
  afterAll(() => dav.stop());

  /** Apache behind a way on which the properties of all that is called `locked` are refused. @param deletes what a removal is answered, where it is not done */
  const openBehind = async (deletes?: string): Promise<{ driver: Required<StorageDriver>; folder: string }> => {
    const way = await startHttpServer(async (request, response) => {
      const body = await buffer(request);
      const { host: _, ...headers } = request.headers;
      if (request.method === 'DELETE' && deletes !== undefined && request.url?.includes('refused')) {
        return void response.writeHead(207, { 'Content-Type': 'application/xml' }).end(deletes);
      }
      const { destination } = headers;
      if (typeof destination === 'string') headers['destination'] = destination.replace(/^http:\/\/[^/]*/, new URL(dav.url).origin);
      const passed = http.request(new URL(request.url ?? '/', dav.url), { method: request.method, headers, agent: false });
      passed.end(body);
      const answer = await new Promise<http.IncomingMessage>((resolve, reject) => passed.once('response', resolve).once('error', reject));
      const text = (await buffer(answer)).toString('latin1');
      const hide = (each: string) => (each.includes('locked') ? each.replaceAll('HTTP/1.1 200 OK', 'HTTP/1.1 403 Forbidden') : each);
      const told = request.method === 'PROPFIND' ? text.replaceAll(/<D:response.*?<\/D:response>/gs, hide) : text;
      const { 'transfer-encoding': _chunked, 'content-length': _length, connection: _connection, ...rest } = answer.headers;
      response.writeHead(answer.statusCode ?? 502, rest).end(Buffer.from(told, 'latin1'));
    });
    onTestFinished(() => way.stop());
    const folder = await mkdtemp(path.join(dav.folder, 'storage ä+'));
    onTestFinished(() => rm(folder, { recursive: true }));
    for (const made of ['some', 'none', 'more', 'moved', 'refused ö']) await mkdir(path.join(folder, made));
    const files = ['some/locked', 'more/locked', 'moved/file', 'refused ö/file'];
    for (const file of files) await writeFile(path.join(folder, file), 'precious');
    for (const made of ['', 'some', 'none', 'more', 'moved', 'refused ö', ...files]) await chown(path.join(folder, made), OWNER, OWNER);
    const url = dav.url.replace(new URL(dav.url).origin, way.url);
    const options = { url, vendor: 'other', user: dav.username };
    const driver = await opened('webdav', options, { pass: dav.password }, path.basename(folder));
    onTestFinished(() => driver.close());
    return { driver: driver as Required<StorageDriver>, folder };
  };

  it('keeps the folder that it is in, and an empty one goes', async () => {
    const { driver, folder } = await openBehind();
    expect(await namesIn(driver, '/some')).toEqual([]);
    await refuses('DIRECTORY_NOT_EMPTY', driver.remove(at('/some'), { recursive: false }));
    await refuses('DIRECTORY_NOT_EMPTY', driver.rename(at('/moved'), at('/more'), { overwrite: true }));
    for (const file of ['some/locked', 'more/locked', 'moved/file']) await access(path.join(folder, file));
    await driver.remove(at('/none'), { recursive: false });
    expect((await namesIn(driver, '/')).toSorted()).toEqual(['more', 'moved', 'refused ö', 'some']);
  });

  it('is told where a removal has left it', async () => {
    const href = '/dav/refused/file';
    const { driver, folder } = await openBehind(
      `<?xml version="1.0"?><D:multistatus xmlns:D="DAV:"><D:response><D:href>${href}</D:href><D:status>HTTP/1.1 423 Locked</D:status></D:response></D:multistatus>`,
    );
    await refuses('DIRECTORY_NOT_EMPTY', driver.remove(at('/refused ö'), { recursive: true }));
    await access(path.join(folder, 'refused ö/file'));
    await driver.remove(at('/some'), { recursive: true });
    expect((await namesIn(driver, '/')).toSorted()).toEqual(['more', 'moved', 'none', 'refused ö']);
  });
});
