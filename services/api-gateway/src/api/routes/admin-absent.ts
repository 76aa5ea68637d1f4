import { z } from 'zod';
import { absentRoute, nothing, type Route, route } from '../route.ts';

/** Admin routes for features that Wharf does not have: scans, and questions of drivers. */
export const adminAbsentRoutes: readonly Route[] = [
  absentRoute({ methods: 'any', path: '/api/admin/message/get', access: 'admin', envelopeCode: 404, message: 'no message' }),
  absentRoute({ methods: 'any', path: '/api/admin/message/send', access: 'admin', envelopeCode: 500, message: 'nowhere needed' }),
  absentRoute({ methods: ['POST'], path: '/api/admin/scan/start', access: 'admin', envelopeCode: 500, message: 'not implement' }),
  absentRoute({
    methods: ['POST'],
    path: '/api/admin/scan/stop',
    access: 'admin',
    envelopeCode: 400,
    message: 'manual scan is not running',
  }),
  route({
    methods: ['GET'],
    path: '/api/admin/scan/progress',
    access: 'admin',
    summary: 'How far a scan is; none ever runs.',
    takes: 'query',
    input: nothing,
    answer: z.object({ obj_count: z.int(), is_done: z.boolean() }),
    call: async () => ({ obj_count: 0, is_done: true }),
  }),
];
