import type { ListUploadsResponse, UnfinishedUpload } from '@wharf/proto/fs-write';
import { z } from 'zod';
import { pageOf, paging, text } from '../fields.ts';
import { type Route, route } from '../route.ts';
import { nothingBack } from '../shapes.ts';

const uploadShape = z.object({
  upload_id: z.string(),
  username: z.string(),
  path: z.string(),
  size: z.int(),
  received_bytes: z.int(),
  chunk_size: z.int(),
  created: z.string(),
  expires: z.string(),
  /** When the file was changed last, as who began it said; empty: it did not. */
  modified: z.string(),
});
const listShape = z.object({ content: z.array(uploadShape), total: z.int() });

/** Unfinished uploads in parts. */
export const uploadRoutes: readonly Route[] = [
  route({
    methods: ['GET'],
    path: '/api/fs/multipart/list',
    access: 'user',
    takes: 'query',
    summary: "The caller's unfinished uploads in parts and by tus, the oldest first; abort ends one. At most 200 on a page.",
    input: z.object(paging),
    answer: listShape,
    call: async ({ peers, options }, input) => showUploads(await peers.fsWrites.listUploads({ of_all: false, ...pageOf(input) }, options)),
  }),
  route({
    methods: ['GET'],
    path: '/api/admin/upload/list',
    access: 'admin',
    takes: 'query',
    summary: 'The unfinished uploads of all users, the oldest first. At most 200 on a page.',
    input: z.object(paging),
    answer: listShape,
    call: async ({ peers, options }, input) => showUploads(await peers.fsWrites.listUploads({ of_all: true, ...pageOf(input) }, options)),
  }),
  route({
    methods: ['POST'],
    path: '/api/admin/upload/abort',
    access: 'admin',
    takes: 'query',
    codes: { RECORD_NOT_FOUND: 404 },
    summary: 'Ends an unfinished upload of any user and takes away what came of it.',
    input: z.object({ upload_id: text() }),
    answer: nothingBack,
    call: async ({ peers, options }, { upload_id }) => {
      await peers.fsWrites.endUpload({ id: upload_id }, options);
      return null;
    },
  }),
];

function showUploads({ uploads, total }: ListUploadsResponse): z.output<typeof listShape> {
  return { content: uploads.map(showUpload), total };
}

function showUpload({ id, created_ms, expires_ms, modified_ms, ...upload }: UnfinishedUpload): z.output<typeof uploadShape> {
  return {
    upload_id: id,
    ...upload,
    created: new Date(created_ms).toISOString(),
    expires: new Date(expires_ms).toISOString(),
    modified: modified_ms === 0 ? '' : new Date(modified_ms).toISOString(),
  };
}
