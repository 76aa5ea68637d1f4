import { z } from 'zod';
import { type Access, absentRoute, nothing, type Route, route } from '../route.ts';
import { nothingBack, taskShape } from '../shapes.ts';

const KINDS = ['upload', 'copy', 'move', 'offline_download', 'offline_download_transfer', 'decompress', 'decompress_upload'] as const;

/** The task routes of one kind under one prefix. Nothing runs in the background, so every list is empty and every id unknown. */
function taskRoutesUnder(base: `/api/${string}`, access: Exclude<Access, 'public'>): Route[] {
  const one = (verb: string) =>
    absentRoute({ methods: 'any', path: `${base}/${verb}`, access, envelopeCode: 404, message: 'task not found' });
  return [
    ...(['undone', 'done'] as const).map((verb) =>
      route({
        methods: 'any',
        path: `${base}/${verb}`,
        access,
        summary: verb === 'done' ? 'The tasks that ended.' : 'The tasks that have not ended.',
        takes: 'query',
        input: nothing,
        answer: z.array(taskShape),
        call: async () => [],
      }),
    ),
    ...['info', 'cancel', 'delete', 'retry'].map(one),
    ...(['cancel_some', 'delete_some', 'retry_some'] as const).map((verb) =>
      route({
        methods: ['POST'],
        path: `${base}/${verb}`,
        access,
        summary: 'Acts on several tasks and answers the errors of those that failed, by id.',
        takes: 'body',
        input: z.array(z.string()),
        refusal: 'invalid request format',
        answer: z.record(z.string(), z.string()),
        call: async (_context, ids) => Object.fromEntries(ids.map((id) => [id, 'task not found'])),
      }),
    ),
    ...(['clear_done', 'clear_succeeded', 'retry_failed'] as const).map((verb) =>
      route({
        methods: 'any',
        path: `${base}/${verb}`,
        access,
        summary: 'Acts on all tasks that ended.',
        takes: 'query',
        input: nothing,
        answer: nothingBack,
        call: async () => null,
      }),
    ),
  ];
}

export const taskRoutes: readonly Route[] = KINDS.flatMap((kind) => [
  ...taskRoutesUnder(`/api/task/${kind}`, 'user'),
  ...taskRoutesUnder(`/api/admin/task/${kind}`, 'admin'),
]);
