import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { type Api, api, at, type HttpAnswer, type HttpRequest, httpRequest, login, waitFor } from '@wharf/harness';
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import fc from 'fast-check';
import { openEventStream } from './event-stream.ts';
import { authorization, FORM_BOUNDARY, formBody, put } from './files.ts';
import { dataOf, makePerson } from './people.ts';
import { arbitraryOf, type Pools } from './schema-arbitrary.ts';
import type { World } from './world.ts';

export interface FuzzOptions {
  /** Requests of each operation. */
  readonly cases: number;
  readonly seed: number;
}

export interface FuzzReport {
  readonly operations: number;
  readonly requests: number;
  /** What does not keep the document, with the request that shows it. */
  readonly faults: readonly string[];
}

/** One method of one path, as the document has it. */
interface Operation {
  readonly method: string;
  readonly path: string;
  readonly isForAdmin: boolean;
  readonly declaration: unknown;
  /** By media type: what the answer with status 200 may be. */
  readonly answers: ReadonlyMap<string, ValidateFunction>;
}

const STREAM = 'text/event-stream';
const OUR_INSIDES = /\.ts:\d+|node:internal|\n\s+at |internal error|Mongo(?:DB|ose|Server)|ECONN[A-Z]|ZodError/;
/** Longer ones are refused before anybody reads them. */
const MAX_URL = 7_000;

/** Sends requests of every documented operation, made from the document alone, and holds each answer to the schema that the document has for it. */
export async function runSchemaFuzz(world: World, { cases, seed }: FuzzOptions): Promise<FuzzReport> {
  const document = (await httpRequest(world.base, { path: '/api/openapi.json' })).json();
  const ajv = new Ajv2020({ strict: false, validateFormats: false });
  const operations = operationsOf(document, ajv);
  const permission = operations.reduce((bits, { declaration }) => bits | Number(at(declaration, 'x-wharf-permission', 'value') ?? 0), 0);
  const surroundings = await prepare(world);
  const faults: string[] = [];
  let requests = 0;
  let admin: Api = world.admin;
  let person: Api | undefined;
  for (const [index, operation] of operations.entries()) {
    // An operation may have ended the login, or changed who the user is.
    if ((await admin.get('/api/me')).code !== 200) admin = await login(world.base, 'admin', world.wharf.adminPassword);
    if (person === undefined || (await person.get('/api/me')).code !== 200) person = await makePerson(world, { permission });
    const entitled = operation.isForAdmin ? admin : person;
    const others = [api(world.base), api(world.base, 'no.such.token'), person];
    const made = fc.sample(requestOf(operation, surroundings.pools), { seed: seed + index, numRuns: cases });
    for (const [number, request] of made.entries()) {
      const isOther = operation.answers.has(STREAM) || number % 5 === 4;
      const caller = (isOther ? others[number % (operation.answers.has(STREAM) ? 2 : 3)] : undefined) ?? entitled;
      const from = { 'x-forwarded-for': `198.51.100.${(index % 250) + 1}` };
      const sent = { ...surroundings.safe(operation, request), headers: { ...request.headers, ...authorization(caller), ...from } };
      const answer = await httpRequest(world.base, sent).catch((error: Error) => error);
      requests++;
      const fault = answer instanceof Error ? answer.message : faultOf(operation, answer);
      if (fault !== undefined) faults.push(`${show(sent)}: ${fault}`);
    }
  }
  faults.push(...(await faultsOfEvents(world, operations, ajv)));
  return { operations: operations.length, requests, faults };
}

/** Has a task come and go, and holds each event of it to its schema. */
async function faultsOfEvents(world: World, operations: readonly Operation[], ajv: Ajv2020): Promise<string[]> {
  const stream = operations.find(({ answers }) => answers.has(STREAM));
  const shapes = Object.entries(Object(at(stream?.declaration, 'responses', '200', 'content', STREAM, 'x-wharf-events')));
  const { path } = await world.folder('events');
  const admin = await login(world.base, 'admin', world.wharf.adminPassword);
  const { events, close } = await openEventStream(world.base, stream?.path ?? '', admin);
  try {
    await put(admin, world.base, `${path}/task.txt`, 'content', { 'as-task': 'true' });
    await waitFor('the task to end', () => events.some(({ name, data }) => name === 'task' && at(data, 'progress') === 100));
    await admin.call('/api/task/upload/clear_done');
    await waitFor('each event', () => shapes.every(([shape]) => events.some(({ name }) => name === shape)));
  } finally {
    close();
  }
  return events.flatMap(({ name, data }) => {
    const schema = shapes.find(([shape]) => shape === name)?.[1];
    if (schema === undefined) return [`the event ${name} is not documented`];
    return ajv.validate(Object(schema), data) ? [] : [`the event ${name}: ${ajv.errorsText()} in ${JSON.stringify(data).slice(0, 500)}`];
  });
}

function operationsOf(document: unknown, ajv: Ajv2020): Operation[] {
  return Object.entries(Object(at(document, 'paths'))).flatMap(([path, methods]) =>
    Object.entries(Object(methods)).map(([method, declaration]) => ({
      method: method.toUpperCase(),
      path,
      declaration,
      isForAdmin: at(declaration, 'x-wharf-access') === 'admin',
      answers: new Map(
        Object.entries(Object(at(declaration, 'responses', '200', 'content'))).map(([type, content]) => [
          type,
          ajv.compile(Object(at(content, 'schema'))),
        ]),
      ),
    })),
  );
}

function faultOf({ answers }: Operation, answer: HttpAnswer): string | undefined {
  const type = String(answer.headers['content-type']).split(';')[0] ?? '';
  const shown = answer.text().slice(0, 500);
  if (answer.status !== 200) return `HTTP ${answer.status} ${shown}`;
  const validate = answers.get(type);
  if (!validate) return `${type} is not documented: ${shown}`;
  if (OUR_INSIDES.test(answer.text())) return `tells of our insides: ${shown}`;
  if (validate(answer.json())) return undefined;
  const errors = validate.errors?.map(({ instancePath, message }) => `${instancePath} ${message}`).join(', ');
  return `not as documented (${errors}): ${shown}`;
}

/** Things to find under the names that requests guess, and the rule that keeps what would end the fuzz, or leave its folders, from being sent. */
async function prepare(world: World) {
  const { path } = await world.folder('fuzz');
  for (const name of ['a.txt', 'b.txt', 'sub/c.txt']) await put(world.admin, world.base, `${path}/${name}`, name);
  const adminId = Number(at(await dataOf(world.admin, '/api/me'), 'id'));
  const storages = at(await dataOf(world.admin, '/api/admin/storage/list'), 'content');
  const localId = Number(at(storages, 0, 'id'));
  await mkdir(join(world.outside, 'spare'));
  const addition = JSON.stringify({ root_folder_path: join(world.outside, 'spare'), thumbnail: false });
  const paths = ['', '/a.txt', '/b.txt', '/sub', '/sub/c.txt', '/new', '/missing/x'].map((name) => path + name);
  const pools: Pools = [
    [/^addition$/, [addition]],
    [/^driver$/, ['Local', 'Missing']],
    [/^mount_path$/, ['/spare', '/spare/below', '/local']],
    [/path|dir|parent|prefix/i, [...paths, '/local', '/']],
    [/^names?$|_name$|^new_?name$/i, ['a.txt', 'b.txt', 'sub', 'c.txt', 'new']],
    [/ids?$/i, [1, 2, 3, 4, 5, 'unknown']],
    [/^keys?$/, ['site_title', 'version', 'token', 'missing']],
    [/^groups?$/, [0, 1, 5, '1,5']],
    [/^as-task$|^overwrite$/i, ['true', 'false']],
    [/^tool$/, ['SimpleHttp']],
    [/^per_page$|^page$/, [0, 1, 2, 30]],
    [/ur[li]s?$/i, ['http://127.0.0.1:9/x.bin', 'http://name.invalid/x', 'magnet:?xt=urn:btih:0000000000000000000000000000000000000000']],
  ];
  /** The admin and the first storage stay as they are, and no storage is made but in its own folder. */
  const safe = ({ path: route }: Operation, request: MadeRequest): HttpRequest => {
    const kept = route.startsWith('/api/admin/user/') ? adminId : route.startsWith('/api/admin/storage/') ? localId : Number.NaN;
    // A list of one number may pass for the number.
    const numberIn = (value: unknown) => Number(JSON.stringify(value)?.replace(/["[\]]/g, ''));
    const guard = (key: string, value: unknown) =>
      /id$/i.test(key) && numberIn(value) === kept ? 0 : key === 'addition' ? addition : value;
    const { query, json, ...rest } = request;
    const fields = mapFields(json, guard);
    // Without one a Local storage would be of the whole machine.
    const isStorage = route.startsWith('/api/admin/storage/') && typeof fields === 'object' && fields !== null && !Array.isArray(fields);
    const body = json === undefined ? {} : { body: JSON.stringify(isStorage ? { ...fields, addition } : fields) };
    const search = Object.entries(query)
      .filter(([, value]) => value !== undefined)
      .map(([key, value]) => [key, guard(key, value)])
      .map(([key, value]) => `${key}=${encodeURIComponent(typeof value === 'string' ? value.toWellFormed() : JSON.stringify(value))}`)
      .join('&')
      .slice(0, MAX_URL);
    return { ...rest, ...body, path: search === '' ? route : `${route}?${search}` };
  };
  return { pools, safe };
}

/** Every field of objects at any depth, as `change` has it. */
function mapFields(value: unknown, change: (key: string, value: unknown) => unknown): unknown {
  if (Array.isArray(value)) return value.map((item) => mapFields(item, change));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, mapFields(change(key, each), change)]));
}

interface MadeRequest extends Omit<HttpRequest, 'path'> {
  readonly query: Readonly<Record<string, unknown>>;
  /** The body before it is written. */
  readonly json?: unknown;
}

function requestOf({ method, path, declaration }: Operation, pools: Pools): fc.Arbitrary<MadeRequest> {
  const parameters = at(declaration, 'parameters');
  const inPlace = (place: string) => {
    const declared = Array.isArray(parameters) ? parameters.filter((each) => at(each, 'in') === place) : [];
    const fields = declared.map((each) => [String(at(each, 'name')), arbitraryOf(at(each, 'schema'), String(at(each, 'name')), pools)]);
    return fc.record(Object.fromEntries(fields), { requiredKeys: [] });
  };
  const query = inPlace('query');
  const content = at(declaration, 'requestBody', 'content');
  if (content === undefined) return query.map((fields) => ({ method, query: fields }));
  const schema = at(content, 'application/json', 'schema');
  if (schema === undefined)
    return fc.record({ headers: inPlace('header'), bytes: fc.uint8Array({ maxLength: 100 }) }).map(({ headers, bytes }) => {
      const isForm = at(content, 'multipart/form-data') !== undefined;
      const type = isForm ? `multipart/form-data; boundary=${FORM_BOUNDARY}` : 'application/octet-stream';
      const encoded = Object.entries(headers).map(([key, value]) => [
        key,
        encodeURIComponent(String(value).toWellFormed()).slice(0, MAX_URL),
      ]);
      return {
        ...{ method, query: {}, body: isForm ? formBody('file', bytes) : bytes },
        headers: { ...Object.fromEntries(encoded), 'content-type': type },
      };
    });
  const headers = { 'content-type': 'application/json' };
  return arbitraryOf(schema, path, pools).map((json) => ({ method, query: {}, json, headers }));
}

function show({ method, path, headers, body }: HttpRequest): string {
  const target = headers?.['File-Path'] === undefined ? '' : ` to ${headers['File-Path']}`;
  const text = typeof body === 'string' ? ` ${body.slice(0, 500)}` : '';
  return `${method} ${path.slice(0, 300)}${target}${text}`;
}
