import { z } from 'zod';
import { requiredText } from '../fields.ts';
import { nothing, type Route, route } from '../route.ts';
import { nothingBack, sessionShape } from '../shapes.ts';

export const meSessionRoutes: readonly Route[] = [
  route({
    methods: ['GET'],
    path: '/api/me/sessions',
    access: 'user',
    summary: "The caller's logins that have not ended, the newest first.",
    takes: 'query',
    input: nothing,
    answer: z.object({ content: z.array(sessionShape) }),
    call: ({ peers, options }) => peers.auth.listSessions({}, options),
  }),
  route({
    methods: ['POST'],
    path: '/api/me/sessions/revoke',
    access: 'user',
    summary: "Ends one of the caller's logins, everywhere.",
    takes: 'body',
    input: z.object({ id: requiredText() }),
    codes: { RECORD_NOT_FOUND: 404 },
    answer: nothingBack,
    call: async ({ peers, options }, input) => {
      await peers.auth.revokeSession(input, options);
      return null;
    },
  }),
];
