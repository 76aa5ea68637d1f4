import { z } from 'zod';
import { nothing, publicRoute, type Route } from '../route.ts';

export const publicRoutes: readonly Route[] = [
  publicRoute({
    methods: 'any',
    path: '/api/public/settings',
    summary: 'The settings that anybody may see, all as texts.',
    takes: 'query',
    input: nothing,
    answer: z.record(z.string(), z.string()),
    call: async ({ settings }) => (await settings()).public,
  }),
  publicRoute({
    methods: 'any',
    path: '/api/public/offline_download_tools',
    summary: 'The names of the download tools that are ready, sorted.',
    takes: 'query',
    input: nothing,
    answer: z.array(z.string()),
    call: async ({ peers, ownCall }) => (await peers.downloader.listTools({}, ownCall())).names,
  }),
  publicRoute({
    methods: 'any',
    path: '/api/public/archive_extensions',
    summary: 'The endings of the archives that can be opened: none.',
    takes: 'query',
    input: nothing,
    answer: z.array(z.string()),
    call: async () => [],
  }),
  publicRoute({
    methods: 'any',
    path: '/api/public/init_status',
    summary: 'Whether the site has been set up, which it always is.',
    takes: 'query',
    input: nothing,
    answer: z.object({ initialized: z.boolean() }),
    call: async () => ({ initialized: true }),
  }),
];
