import { z } from 'zod';
import { absentRoute, nothing, type Route, route } from '../route.ts';

const NO_SHARE = { methods: 'any', access: 'user', envelopeCode: 500, message: 'the share does not exist' } as const;

/** Sharing is left out: the list is empty and no share exists. */
export const shareRoutes: readonly Route[] = [
  route({
    methods: 'any',
    path: '/api/share/list',
    access: 'user',
    summary: "The caller's shares: none.",
    takes: 'query',
    input: nothing,
    answer: z.object({ content: z.array(z.unknown()), total: z.int() }),
    call: async () => ({ content: [], total: 0 }),
  }),
  absentRoute({ ...NO_SHARE, path: '/api/share/get' }),
  absentRoute({ ...NO_SHARE, path: '/api/share/update' }),
  absentRoute({ ...NO_SHARE, path: '/api/share/delete' }),
  absentRoute({ ...NO_SHARE, path: '/api/share/enable' }),
  absentRoute({ ...NO_SHARE, path: '/api/share/disable' }),
  absentRoute({ methods: 'any', path: '/api/share/create', access: 'user', envelopeCode: 500, message: 'not implement' }),
];
