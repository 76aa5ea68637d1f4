import { createEgress, createEgressPolicy } from '@wharf/egress';
import { startHttpServer } from '@wharf/harness';
import { expect, it, onTestFinished } from 'vitest';
import { codeOf } from '../../driver-contract/conformance/driver-calls.ts';
import { openDavEmptiness } from './dav-emptiness.ts';

const egress = createEgress(createEgressPolicy({ allow: [], forbidden: [], audience: 'admin' }));
const OK = '<D:propstat><D:prop/><D:status>HTTP/1.1 200 OK</D:status></D:propstat>';
const REFUSED = OK.replace('200 OK', '403 Forbidden');
const response = (href: string, told = OK) => `<D:response><D:href>${href}</D:href>${told}</D:response>`;

interface Told {
  readonly status?: number;
  readonly responses?: readonly string[];
  readonly options?: Readonly<Record<string, string>>;
}

/** What is said of the folder `in/a ö` on a server that says this of it, and what the server was asked with. */
async function ask({ status = 207, responses = [], options = {} }: Told) {
  const asked: unknown[] = [];
  const server = await startHttpServer((request, answer) => {
    asked.push([request.method, request.url, request.headers.depth, request.headers.authorization]);
    answer.writeHead(status).end(`<?xml version="1.0"?><D:multistatus xmlns:D="DAV:">${responses.join('')}</D:multistatus>`);
  });
  const emptiness = openDavEmptiness({ url: `${server.url}/dav/`, ...options }, egress);
  onTestFinished(async () => {
    emptiness.close();
    await server.stop();
  });
  return { code: await codeOf(emptiness.check('in/a ö', {})), asked };
}

it.each<[string, string, Told]>([
  ['done', 'it tells of itself alone', { responses: [response('/dav/in/a%20%c3%b6/')] }],
  ['done', 'it tells of itself by an address', { responses: [response('http://inner/dav/in/a%20%C3%B6')] }],
  ['DIRECTORY_NOT_EMPTY', 'it tells of more', { responses: [response('/dav/in/a%20%C3%B6/'), response('/dav/in/a%20%C3%B6/file')] }],
  [
    'DIRECTORY_NOT_EMPTY',
    'it refuses to tell of more',
    { responses: [response('/dav/in/a%20%C3%B6/'), response('/dav/in/a%20%C3%B6/x', REFUSED)] },
  ],
  ['DIRECTORY_NOT_EMPTY', 'a name is no UTF-8', { responses: [response('/dav/in/a%20%C3%B6/'), response('/dav/in/a%20%C3%B6/caf%e9')] }],
  ['DIRECTORY_NOT_EMPTY', 'it refuses to tell of itself', { responses: [response('/dav/in/a%20%C3%B6/', REFUSED)] }],
  ['DIRECTORY_NOT_EMPTY', 'it tells of nothing', {}],
  ['DIRECTORY_NOT_EMPTY', 'it does not let us ask', { status: 403 }],
  ['ENTRY_NOT_FOUND', 'it has no such folder', { status: 404 }],
  ['STORAGE_UNAVAILABLE', 'it is away', { status: 503 }],
])('of a folder: %s where %s', async (code, _, told) => {
  expect((await ask(told)).code).toBe(code);
});

it('logs in as rclone does', async () => {
  const [login, place] = ['Basic dTpwOsO2', ['PROPFIND', '/dav/in/a%20%C3%B6/', '1']];
  expect((await ask({ options: { user: 'u', pass: 'p:ö' } })).asked).toEqual([[...place, login]]);
  expect((await ask({ options: { bearer_token: 't' } })).asked).toEqual([[...place, 'Bearer t']]);
  expect((await ask({ options: { vendor: 'nextcloud' } })).asked).toEqual([[...place, undefined]]);
});

it('a server of a vendor with a login of its own is not asked, and no folder of it is said to be empty', async () => {
  expect(await ask({ options: { vendor: 'sharepoint-ntlm', user: 'u', pass: 'p' } })).toEqual({ code: 'DIRECTORY_NOT_EMPTY', asked: [] });
});
