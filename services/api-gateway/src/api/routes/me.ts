import { z } from 'zod';
import { id, pageOf, paging, requiredText, text } from '../fields.ts';
import { nothing, type Route, route } from '../route.ts';
import { nothingBack, pageShape, showUser, sshKeyShape, userShape } from '../shapes.ts';

export const meRoutes: readonly Route[] = [
  route({
    methods: ['GET'],
    path: '/api/me',
    isReading: true,
    access: 'guest',
    summary: 'Who the caller is, and which rights it has.',
    takes: 'query',
    input: nothing,
    answer: userShape,
    call: async ({ caller }) => showUser(caller.user),
  }),
  route({
    methods: ['POST'],
    path: '/api/me/update',
    access: 'guest',
    summary: "Changes the caller's name, password and single-sign-on id; an empty password keeps the old one.",
    takes: 'body',
    input: z.object({ username: requiredText(), password: text(), sso_id: text() }),
    answer: nothingBack,
    call: async ({ peers, options }, input) => {
      await peers.auth.updateCurrentUser(input, options);
      return null;
    },
  }),
  route({
    methods: ['GET'],
    path: '/api/me/sshkey/list',
    access: 'guest',
    summary: "The caller's SSH keys.",
    takes: 'query',
    input: z.object(paging),
    answer: pageShape(sshKeyShape),
    call: ({ peers, options }, input) => peers.auth.listSshKeys(pageOf(input), options),
  }),
  route({
    methods: ['POST'],
    path: '/api/me/sshkey/add',
    access: 'guest',
    summary: 'Adds an SSH key to the caller.',
    takes: 'body',
    input: z.object({ title: requiredText(), key: requiredText() }),
    refusal: 'request invalid',
    answer: nothingBack,
    call: async ({ peers, options }, input) => {
      await peers.auth.addSshKey(input, options);
      return null;
    },
  }),
  route({
    methods: ['POST'],
    path: '/api/me/sshkey/delete',
    access: 'guest',
    summary: 'Removes an SSH key of the caller.',
    takes: 'query',
    input: z.object({ id: id() }),
    refusal: 'id format invalid',
    codes: { RECORD_NOT_FOUND: 404 },
    answer: nothingBack,
    call: async ({ peers, options }, input) => {
      await peers.auth.deleteSshKey(input, options);
      return null;
    },
  }),
];
