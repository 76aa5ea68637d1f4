import type { AppError } from '@wharf/errors';
import { z } from 'zod';
import { flag, id, idInput, int32, jsonText, pageOf, paging, requiredText, text } from '../fields.ts';
import { type CallerContext, nothing, type Route, route } from '../route.ts';
import { nothingBack, pageShape, storageHealthShape, storageShape, storageTestShape } from '../shapes.ts';

const storageInput = z.object({
  id: id().default(0),
  mount_path: requiredText(),
  order: int32(),
  driver: text(),
  cache_expiration: int32(),
  custom_cache_policies: text(),
  addition: jsonText().default(''),
  remark: text(),
  disabled: flag(),
  disable_index: flag(),
  enable_sign: flag(),
  order_by: text(),
  order_direction: text(),
  extract_folder: text(),
  web_proxy: flag(),
  webdav_policy: text(),
  proxy_range: flag(),
  down_proxy_url: text(),
  disable_proxy_sign: flag(),
});

type MountDetails = NonNullable<z.output<typeof storageShape>['mount_details']>;

/** The room of storages by id, when the settings let it be shown. That the file service cannot tell keeps nobody from the list. */
async function mountDetails({ peers, options, settings }: CallerContext): Promise<ReadonlyMap<number, MountDetails>> {
  if ((await settings()).isOn('hide_storage_details_in_manage_page')) return new Map();
  const { storages } = await peers.fs.listStorageSpace({}, options).catch(() => ({ storages: [] }));
  return new Map(
    storages.map(({ id, total_bytes, free_bytes }) => [
      id,
      { total_space: total_bytes, used_space: Math.max(0, total_bytes - free_bytes), free_space: free_bytes },
    ]),
  );
}

const withDetails = <Storage>(storage: Storage, details: MountDetails | undefined) =>
  details === undefined ? storage : { ...storage, mount_details: details };

/** Clients read `data.id` of a create or an update that failed: the storage may be stored although it could not be started. */
const failedId = {
  shape: z.object({ id: z.int() }),
  of: (error: AppError) => ({ id: typeof error.details['id'] === 'number' ? error.details['id'] : 0 }),
};

export const adminStorageRoutes: readonly Route[] = [
  route({
    methods: 'any',
    path: '/api/admin/storage/list',
    access: 'admin',
    summary: 'The storages by order, then id.',
    takes: 'query',
    input: z.object(paging),
    answer: pageShape(storageShape),
    call: async (context, input) => {
      const { content, total } = await context.peers.admin.listStorages(pageOf(input), context.options);
      const details = await mountDetails(context);
      return { content: content.map((storage) => withDetails(storage, details.get(storage.id))), total };
    },
  }),
  route({
    methods: ['GET'],
    path: '/api/admin/storage/health',
    access: 'admin',
    summary:
      'How the enabled storages get on, as the replica of the file service sees it that answers: state, breaker, last failure, latency.',
    takes: 'query',
    input: nothing,
    answer: pageShape(storageHealthShape).extend({ replica: z.string() }),
    call: async ({ peers, options }) => {
      const { storages, replica } = await peers.fs.listStorageHealth({}, options);
      return { content: storages, total: storages.length, replica };
    },
  }),
  route({
    methods: ['GET'],
    path: '/api/admin/storage/get',
    access: 'admin',
    summary: 'One storage.',
    takes: 'query',
    input: idInput,
    answer: storageShape.nullable(),
    call: async ({ peers, options }, input) => (await peers.admin.getStorage(input, options)).storage ?? null,
  }),
  route({
    methods: ['POST'],
    path: '/api/admin/storage/create',
    access: 'admin',
    summary: 'Stores a storage and starts it.',
    takes: 'body',
    input: storageInput,
    answer: z.object({ id: z.int() }),
    failureData: failedId,
    call: async ({ peers, options }, input) => ({ id: (await peers.admin.createStorage({ storage: input }, options)).id }),
  }),
  route({
    methods: ['POST'],
    path: '/api/admin/storage/update',
    access: 'admin',
    summary: 'Replaces a storage and starts it again; its driver stays.',
    takes: 'body',
    input: storageInput,
    answer: nothingBack,
    failureData: failedId,
    call: async ({ peers, options }, input) => {
      await peers.admin.updateStorage({ storage: input }, options);
      return null;
    },
  }),
  route({
    methods: ['POST'],
    path: '/api/admin/storage/test',
    access: 'admin',
    summary:
      'Opens a storage that is saved (id), would be (driver, addition), or would be changed (both), and tells what works, for half a minute at most; with write also by a temporary file at its root. Nothing is saved.',
    takes: 'body',
    input: z.object({ id: id().default(0), driver: text(), addition: jsonText().optional(), write: flag() }),
    answer: storageTestShape,
    call: async ({ peers, options }, input) => {
      const { traits, clock_skew_ms, ...tested } = await peers.fs.testStorage(input, options);
      const named = z.record(z.string(), z.unknown()).parse(JSON.parse(traits || '{}'));
      return { ...tested, traits: named, clock_skew_ms: clock_skew_ms ?? null };
    },
  }),
  route({
    methods: ['POST'],
    path: '/api/admin/storage/delete',
    access: 'admin',
    summary: 'Stops a storage and forgets it; its files stay where they are.',
    takes: 'query',
    input: idInput,
    answer: nothingBack,
    call: async ({ peers, options }, input) => {
      await peers.admin.deleteStorage(input, options);
      return null;
    },
  }),
  route({
    methods: ['POST'],
    path: '/api/admin/storage/enable',
    access: 'admin',
    summary: 'Starts a disabled storage.',
    takes: 'query',
    input: idInput,
    answer: nothingBack,
    call: async ({ peers, options }, input) => {
      await peers.admin.enableStorage(input, options);
      return null;
    },
  }),
  route({
    methods: ['POST'],
    path: '/api/admin/storage/disable',
    access: 'admin',
    summary: 'Stops a storage and keeps its settings.',
    takes: 'query',
    input: idInput,
    answer: nothingBack,
    call: async ({ peers, options }, input) => {
      await peers.admin.disableStorage(input, options);
      return null;
    },
  }),
  route({
    methods: ['POST'],
    path: '/api/admin/storage/load_all',
    access: 'admin',
    summary: 'Starts every enabled storage again, in the background.',
    takes: 'query',
    input: nothing,
    answer: nothingBack,
    call: async ({ peers, options }) => {
      await peers.admin.reloadStorages({}, options);
      return null;
    },
  }),
];
