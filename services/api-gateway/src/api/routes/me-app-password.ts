import { z } from 'zod';
import { flag, idInput, pageOf, paging, requiredText, text, texts } from '../fields.ts';
import { type Route, route } from '../route.ts';
import { appPasswordShape, nothingBack, pageShape } from '../shapes.ts';

export const meAppPasswordRoutes: readonly Route[] = [
  route({
    methods: ['GET'],
    path: '/api/me/app_password/list',
    access: 'user',
    summary: "The caller's app passwords, without the passwords.",
    takes: 'query',
    input: z.object(paging),
    answer: pageShape(appPasswordShape),
    call: ({ peers, options }, input) => peers.auth.listAppPasswords(pageOf(input), options),
  }),
  route({
    methods: ['POST'],
    path: '/api/me/app_password/create',
    access: 'user',
    summary: 'Makes a password for one app: some of the protocols webdav, ftp and sftp, below a path, until a time. Shown this once.',
    takes: 'body',
    input: z.object({ name: requiredText(), protocols: texts(), read_only: flag(), path: text(), expires_time: text() }),
    answer: z.object({ id: z.int(), password: z.string() }),
    call: async ({ peers, options }, input) => {
      const { id, password } = await peers.auth.createAppPassword(input, options);
      return { id, password };
    },
  }),
  route({
    methods: ['POST'],
    path: '/api/me/app_password/delete',
    access: 'user',
    summary: 'Removes an app password of the caller.',
    takes: 'query',
    input: idInput,
    codes: { RECORD_NOT_FOUND: 404 },
    answer: nothingBack,
    call: async ({ peers, options }, input) => {
      await peers.auth.deleteAppPassword(input, options);
      return null;
    },
  }),
];
