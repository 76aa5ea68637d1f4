import { z } from 'zod';
import type { Access, Method, Route } from './route.ts';
import { adminAbsentRoutes } from './routes/admin-absent.ts';
import { adminAuditRoutes } from './routes/admin-audit.ts';
import { adminConfigRoutes } from './routes/admin-config.ts';
import { adminDriverRoutes } from './routes/admin-driver.ts';
import { adminIndexRoutes } from './routes/admin-index.ts';
import { adminMetaRoutes } from './routes/admin-meta.ts';
import { adminSettingRoutes } from './routes/admin-setting.ts';
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
  ...taskRoutes,
  ...shareRoutes,
  ...adminUserRoutes,
  ...adminAuditRoutes,
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
  /** The media type of the body. */
  readonly body: string;
}

export const BYTE_ROUTES: readonly ByteRoute[] = [
  {
    method: 'PUT',
    path: '/api/fs/put',
    access: 'guest',
    summary: 'Uploads one file; the body is its content, the header File-Path its percent-encoded path.',
    body: 'application/octet-stream',
  },
  {
    method: 'PUT',
    path: '/api/fs/form',
    access: 'guest',
    summary: 'Uploads one file as the file part of a form; the header File-Path is its percent-encoded path.',
    body: 'multipart/form-data',
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
