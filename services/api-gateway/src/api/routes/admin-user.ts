import { z } from 'zod';
import { flag, id, idInput, int32, pageOf, paging, requiredText, text } from '../fields.ts';
import { nothing, type Route, route } from '../route.ts';
import { nothingBack, pageShape, showUser, sshKeyShape, userShape } from '../shapes.ts';

const userInput = z.object({
  id: id().default(0),
  username: requiredText(),
  password: text(),
  base_path: text(),
  role: int32(),
  disabled: flag(),
  permission: int32(),
  sso_id: text(),
  allow_ldap: flag(true),
  /** Absent: none for a new user, as it is for one that is there. */
  quota_bytes: z.int().min(0).optional(),
});

export const adminUserRoutes: readonly Route[] = [
  route({
    methods: ['GET'],
    path: '/api/admin/user/list',
    access: 'admin',
    summary: 'All users.',
    takes: 'query',
    input: z.object(paging),
    answer: pageShape(userShape),
    call: async ({ peers, options }, input) => {
      const { content, total } = await peers.auth.listUsers(pageOf(input), options);
      return { content: content.map(showUser), total };
    },
  }),
  route({
    methods: ['GET'],
    path: '/api/admin/user/get',
    access: 'admin',
    summary: 'One user.',
    takes: 'query',
    input: idInput,
    answer: userShape.nullable(),
    call: async ({ peers, options }, input) => {
      const { user } = await peers.auth.getUser(input, options);
      return user ? showUser(user) : null;
    },
  }),
  route({
    methods: ['POST'],
    path: '/api/admin/user/create',
    access: 'admin',
    summary: 'Makes a user of role 0.',
    takes: 'body',
    input: userInput,
    answer: nothingBack,
    call: async ({ peers, options }, input) => {
      await peers.auth.createUser({ user: { ...input, id: 0 } }, options);
      return null;
    },
  }),
  route({
    methods: ['POST'],
    path: '/api/admin/user/update',
    access: 'admin',
    summary: "Replaces a user's fields; an empty password keeps the old one.",
    takes: 'body',
    input: userInput,
    answer: nothingBack,
    call: async ({ peers, options }, input) => {
      await peers.auth.updateUser({ user: input }, options);
      return null;
    },
  }),
  route({
    methods: ['POST'],
    path: '/api/admin/user/delete',
    access: 'admin',
    summary: 'Deletes a user.',
    takes: 'query',
    input: idInput,
    answer: nothingBack,
    call: async ({ peers, options }, input) => {
      await peers.auth.deleteUser(input, options);
      return null;
    },
  }),
  route({
    methods: ['POST'],
    path: '/api/admin/user/cancel_2fa',
    access: 'admin',
    summary: "Switches a user's two-step verification off.",
    takes: 'query',
    input: idInput,
    answer: nothingBack,
    call: async ({ peers, options }, input) => {
      await peers.auth.cancelOtp(input, options);
      return null;
    },
  }),
  route({
    methods: ['POST'],
    path: '/api/admin/user/del_cache',
    access: 'admin',
    summary: 'For existing clients: users are never cached beyond a change, so there is nothing to drop.',
    takes: 'query',
    input: nothing,
    answer: nothingBack,
    call: async () => null,
  }),
  route({
    methods: ['GET'],
    path: '/api/admin/user/sshkey/list',
    access: 'admin',
    summary: "A user's SSH keys.",
    takes: 'query',
    input: z.object({ uid: id(), ...paging }),
    refusal: 'user id format invalid',
    codes: { RECORD_NOT_FOUND: 404 },
    answer: pageShape(sshKeyShape),
    call: ({ peers, options }, { uid, ...page }) => peers.auth.listUserSshKeys({ user_id: uid, ...pageOf(page) }, options),
  }),
  route({
    methods: ['POST'],
    path: '/api/admin/user/sshkey/delete',
    access: 'admin',
    summary: "Removes any user's SSH key.",
    takes: 'query',
    input: idInput,
    refusal: 'id format invalid',
    codes: { RECORD_NOT_FOUND: 404 },
    answer: nothingBack,
    call: async ({ peers, options }, input) => {
      await peers.auth.deleteUserSshKey(input, options);
      return null;
    },
  }),
];
