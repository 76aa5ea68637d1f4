import { AppError } from '@wharf/errors';
import { z } from 'zod';
import { texts } from '../fields.ts';
import { type CallerContext, nothing, type Route, route } from '../route.ts';
import { nothingBack } from '../shapes.ts';

const CODES = { UNSUPPORTED_OPERATION: 404, FAILED_PRECONDITION: 400 } as const;
const SHARED = { access: 'admin', takes: 'query', codes: CODES } as const;

/** @throws AppError UNSUPPORTED_OPERATION while no index is chosen */
async function requireIndex({ settings }: CallerContext): Promise<void> {
  if ((await settings()).text('search_index') === 'none') throw new AppError('UNSUPPORTED_OPERATION', 'search not available');
}

/** Administration of the search index. */
export const adminIndexRoutes: readonly Route[] = [
  route({
    ...SHARED,
    methods: ['POST'],
    path: '/api/admin/index/build',
    summary: 'Builds the search index anew, in the background. The body counts for nothing.',
    input: nothing,
    answer: nothingBack,
    call: async (context) => {
      await requireIndex(context);
      await context.peers.fs.buildIndex({}, context.options);
      return null;
    },
  }),
  route({
    ...SHARED,
    methods: ['POST'],
    path: '/api/admin/index/update',
    takes: 'body',
    summary: 'Builds the index of some subtrees anew, in the background; max_depth -1 is no limit, without it max_index_depth is.',
    input: z.object({ paths: texts(), max_depth: z.int32().optional() }),
    answer: nothingBack,
    call: async (context, { paths, max_depth }) => {
      await requireIndex(context);
      await context.peers.fs.updateIndex({ paths, max_depth }, context.options);
      return null;
    },
  }),
  route({
    ...SHARED,
    methods: ['POST'],
    path: '/api/admin/index/stop',
    summary: 'Stops indexing where it is.',
    input: nothing,
    answer: nothingBack,
    call: async (context) => {
      await requireIndex(context);
      await context.peers.fs.stopIndex({}, context.options);
      return null;
    },
  }),
  route({
    ...SHARED,
    methods: ['POST'],
    path: '/api/admin/index/clear',
    summary: 'Empties the search index.',
    input: nothing,
    answer: nothingBack,
    call: async (context) => {
      await requireIndex(context);
      await context.peers.fs.clearIndex({}, context.options);
      return null;
    },
  }),
  route({
    ...SHARED,
    methods: ['GET', 'POST'],
    path: '/api/admin/index/progress',
    summary: 'How far indexing is.',
    input: nothing,
    answer: z.object({ obj_count: z.int(), is_done: z.boolean(), last_done_time: z.string().nullable(), error: z.string() }),
    call: async (context) => {
      await requireIndex(context);
      const { obj_count, is_done, last_done_time, error } = await context.peers.fs.getIndexProgress({}, context.options);
      return { obj_count, is_done, last_done_time: last_done_time ?? null, error };
    },
  }),
];
