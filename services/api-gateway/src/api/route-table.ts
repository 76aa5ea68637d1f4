import { z } from 'zod';
import type { Access, Method, Route } from './route.ts';
import { adminAbsentRoutes } from './routes/admin-absent.ts';
import { adminAuditRoutes } from './routes/admin-audit.ts';
import { adminConfigRoutes } from './routes/admin-config.ts';
import { adminDriverRoutes } from './routes/admin-driver.ts';
import { adminIndexRoutes } from './routes/admin-index.ts';
import { adminMetaRoutes } from './routes/admin-meta.ts';
import { adminSettingRoutes } from './routes/admin-setting.ts';
import { adminStateRoutes } from './routes/admin-state.ts';
import { adminStorageRoutes } from './routes/admin-storage.ts';
import { adminUserRoutes } from './routes/admin-user.ts';
import { authRoutes } from './routes/auth.ts';
import { fsReadRoutes } from './routes/fs-read.ts';
import { fsWriteRoutes } from './routes/fs-write.ts';
import { meRoutes } from './routes/me.ts';
import { meAppPasswordRoutes } from './routes/me-app-password.ts';
import { meSessionRoutes } from './routes/me-session.ts';
import { publicRoutes } from './routes/public.ts';
import { shareRoutes } from './routes/share.ts';
import { taskRoutes } from './routes/task.ts';
import { uploadRoutes } from './routes/upload.ts';
import { taskShape } from './shapes.ts';

/** Every JSON route. What reaches a service, the OpenAPI document and the tests of access all come from here. */
export const ROUTES: readonly Route[] = [
  ...authRoutes,
  ...meRoutes,
  ...meSessionRoutes,
  ...meAppPasswordRoutes,
  ...publicRoutes,
  ...fsReadRoutes,
  ...fsWriteRoutes,
  ...uploadRoutes,
  ...taskRoutes,
  ...shareRoutes,
  ...adminUserRoutes,
  ...adminAuditRoutes,
  ...adminStateRoutes,
  ...adminStorageRoutes,
  ...adminConfigRoutes,
  ...adminDriverRoutes,
  ...adminSettingRoutes,
  ...adminMetaRoutes,
  ...adminIndexRoutes,
  ...adminAbsentRoutes,
];

/** A route whose bytes go to the data plane of fs; it reads and checks them itself. */
export interface ByteRoute {
  readonly method: Method;
  readonly path: `/api/${string}`;
  readonly access: Exclude<Access, 'public'>;
  readonly summary: string;
  /** The media type of the body; absent: it has none. */
  readonly body?: string;
  readonly parameters: readonly ByteParameter[];
  /** The shape of `data`; absent: an object or null. */
  readonly answer?: z.ZodType;
}

/** What a byte route reads beside its body. */
export interface ByteParameter {
  readonly name: string;
  readonly in: 'header' | 'query';
  readonly required: boolean;
  readonly description: string;
}

const header = (name: string, required: boolean, description: string): ByteParameter => ({ name, in: 'header', required, description });
const query = (name: string, description: string): ByteParameter => ({ name, in: 'query', required: false, description });

const FILE_PATH = header('File-Path', true, 'The full path of the target, percent-encoded.');
const OVERWRITE = header('Overwrite', false, '`false` to refuse when the target exists.');
const IF_MATCH = header(
  'If-Match',
  false,
  'Replaces the file only while its ETag, as downloads answer it, is this one; code 412 otherwise.',
);
const IF_UNMODIFIED_SINCE = header(
  'If-Unmodified-Since',
  false,
  'Replaces the file only while its date is not later than this one; code 412 otherwise. Passed over beside If-Match.',
);
const KEEP_LAST_MODIFIED = header(
  'Keep-Last-Modified',
  false,
  '`true`: beside `If-Match`, the date of the file is as `Last-Modified` says, also where its ETag is then that of the file before.',
);
const IDEMPOTENCY_KEY = header(
  'Idempotency-Key',
  false,
  '16 to 128 letters, digits, `_`, `-`, `.` and `:`: an upload that is sent again under its key is stored once.',
);
const UPLOAD_ID = header('X-Upload-Id', true, 'The upload_id that init answered.');
const PUT_PARAMETERS = [
  ...[FILE_PATH, header('As-Task', false, '`true` to be told of a task.'), OVERWRITE, IF_MATCH, IF_UNMODIFIED_SINCE],
  ...[KEEP_LAST_MODIFIED, IDEMPOTENCY_KEY],
];
const BYTES = 'application/octet-stream';

const partsShape = z.object({
  upload_id: z.string(),
  state: z.string(),
  attempt: z.int(),
  path: z.string(),
  size: z.int(),
  chunk_size: z.int(),
  total_chunks: z.int(),
  received: z.array(z.tuple([z.int(), z.int()])),
  received_bytes: z.int(),
  frontier: z.int(),
  storage_progress: z.int(),
  resumed: z.boolean().optional(),
  error: z.string().optional(),
});

export const BYTE_ROUTES: readonly ByteRoute[] = [
  {
    method: 'PUT',
    path: '/api/fs/put',
    access: 'guest',
    summary: 'Uploads one file; the body is its content, the header File-Path its percent-encoded path.',
    body: BYTES,
    parameters: PUT_PARAMETERS,
  },
  {
    method: 'PUT',
    path: '/api/fs/form',
    access: 'guest',
    summary: 'Uploads one file as the file part of a form; the header File-Path is its percent-encoded path.',
    body: 'multipart/form-data',
    parameters: PUT_PARAMETERS,
  },
  {
    method: 'POST',
    path: '/api/fs/multipart/init',
    access: 'guest',
    summary: "Begins an upload in parts, or finds the caller's unfinished one of the same path, size and hash.",
    parameters: [
      FILE_PATH,
      header('X-File-Size', true, 'Bytes of the file, more than 0.'),
      header('X-Chunk-Size', false, 'The wanted size of a part in bytes; the answer says which it is.'),
      OVERWRITE,
      header('Last-Modified', false, 'Milliseconds since 1970.'),
      header('X-File-Md5', false, 'What the whole file must hash to; X-File-Sha1 and X-File-Sha256 likewise.'),
    ],
    answer: partsShape,
  },
  {
    method: 'PUT',
    path: '/api/fs/multipart/chunk',
    access: 'guest',
    summary: 'Uploads one part, whose bytes are the body; in any order, several at a time, and again without harm.',
    body: BYTES,
    parameters: [UPLOAD_ID, header('X-Chunk-Index', true, 'From 0.')],
    answer: partsShape,
  },
  {
    method: 'POST',
    path: '/api/fs/multipart/complete',
    access: 'guest',
    summary: 'Verifies an upload in parts and gives the file its name.',
    parameters: [UPLOAD_ID],
    answer: partsShape,
  },
  {
    method: 'GET',
    path: '/api/fs/multipart/status',
    access: 'guest',
    summary: 'An upload in parts, by its id or by the path and size of its file.',
    parameters: [
      query('upload_id', 'The upload_id that init answered.'),
      query('path', 'Of the file.'),
      query('size', 'Of the file, in bytes.'),
      query('sums', '`true`: with the id, to be told the sums of the accepted parts.'),
    ],
    answer: partsShape.extend({ sums: z.array(z.int()).optional() }),
  },
  {
    method: 'POST',
    path: '/api/fs/multipart/abort',
    access: 'guest',
    summary: 'Ends an upload in parts and takes away what came of it.',
    parameters: [UPLOAD_ID],
  },
];

/** A route that answers with a stream of server-sent events instead of an envelope. */
export interface EventRoute {
  readonly path: `/api/${string}`;
  readonly access: Exclude<Access, 'public'>;
  readonly summary: string;
  /** The shape of the data of each event. */
  readonly events: Readonly<Record<string, z.ZodType>>;
}

export const EVENT_ROUTES: readonly EventRoute[] = [
  {
    path: '/api/task/events',
    access: 'user',
    summary: 'Tasks as they change: `snapshot` with an array of tasks, then `task` with one, or `removed` with its id.',
    events: { snapshot: z.array(taskShape), task: taskShape, removed: z.object({ id: z.string() }) },
  },
];

/** Finds routes by their path, which has no variable part. @throws Error when two routes share a path */
export function indexRoutes<Item extends { readonly path: string }>(routes: readonly Item[]): ReadonlyMap<string, Item> {
  const byPath = new Map(routes.map((route) => [route.path as string, route]));
  if (byPath.size !== routes.length) throw new Error('two routes have the same path');
  return byPath;
}

/** True when a route answers a method; HEAD is answered like GET. */
export function answersMethod(route: Route, method: string): boolean {
  if (route.methods === 'any') return true;
  return route.methods.some((known) => known === (method === 'HEAD' ? 'GET' : method));
}
