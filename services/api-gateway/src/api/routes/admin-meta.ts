import { z } from 'zod';
import { flag, id, idInput, list, pageOf, paging, requiredText, text } from '../fields.ts';
import { type Route, route } from '../route.ts';
import { nothingBack, pageShape, ruleShape, userAccessShape } from '../shapes.ts';

/** Users whose access is explained in one answer. */
const MAX_EXPLAINED = 100;

const userIds = () => list(z.int().min(0)).default([]);

const ruleInput = z.object({
  id: id().default(0),
  path: requiredText(),
  password: text(),
  p_sub: flag(),
  write: flag(),
  w_sub: flag(),
  hide: text(),
  h_sub: flag(),
  readme: text(),
  r_sub: flag(),
  header: text(),
  header_sub: flag(),
  read_users: userIds(),
  read_users_sub: flag(),
  write_users: userIds(),
  write_users_sub: flag(),
});

export const adminMetaRoutes: readonly Route[] = [
  route({
    methods: ['GET'],
    path: '/api/admin/meta/list',
    access: 'admin',
    summary: 'The path rules by id.',
    takes: 'query',
    input: z.object(paging),
    answer: pageShape(ruleShape),
    call: ({ peers, options }, input) => peers.admin.listRules(pageOf(input), options),
  }),
  route({
    methods: ['GET'],
    path: '/api/admin/meta/get',
    access: 'admin',
    summary: 'One path rule.',
    takes: 'query',
    input: idInput,
    answer: ruleShape.nullable(),
    call: async ({ peers, options }, input) => (await peers.admin.getRule(input, options)).rule ?? null,
  }),
  route({
    methods: ['POST'],
    path: '/api/admin/meta/explain',
    access: 'admin',
    isReading: true,
    summary:
      'What users may do at a path of the whole tree, and which rule says so: those named, or all (100 at most). With `rule`, as if that rule were saved. No password counts as given.',
    takes: 'body',
    input: z.object({ path: requiredText(), users: userIds(), rule: ruleInput.optional() }),
    answer: z.object({ content: z.array(userAccessShape) }),
    call: async ({ peers, options }, { path, users, rule }) => {
      const found =
        users.length === 0
          ? (await peers.auth.listUsers({ page: 1, per_page: MAX_EXPLAINED }, options)).content
          : (await Promise.all(users.slice(0, MAX_EXPLAINED).map((user) => peers.auth.getUser({ id: user }, options)))).flatMap(
              ({ user }) => user ?? [],
            );
      const { subjects } = await peers.fs.explainAccess({ path, subjects: found, ...(rule ? { rule } : {}) }, options);
      const decisionsOf = new Map(subjects.map(({ id: user, decisions }) => [user, decisions]));
      return {
        content: found.map((user) => ({
          user_id: user.id,
          username: user.username,
          role: user.role,
          disabled: user.disabled,
          decisions: decisionsOf.get(user.id) ?? [],
        })),
      };
    },
  }),
  route({
    methods: ['POST'],
    path: '/api/admin/meta/create',
    access: 'admin',
    summary: 'Adds a path rule; a path has one at most.',
    takes: 'body',
    input: ruleInput,
    answer: nothingBack,
    call: async ({ peers, options }, rule) => {
      await peers.admin.createRule({ rule }, options);
      return null;
    },
  }),
  route({
    methods: ['POST'],
    path: '/api/admin/meta/update',
    access: 'admin',
    summary: 'Replaces a path rule.',
    takes: 'body',
    input: ruleInput,
    answer: nothingBack,
    call: async ({ peers, options }, rule) => {
      await peers.admin.updateRule({ rule }, options);
      return null;
    },
  }),
  route({
    methods: ['POST'],
    path: '/api/admin/meta/delete',
    access: 'admin',
    summary: 'Removes a path rule.',
    takes: 'query',
    input: idInput,
    answer: nothingBack,
    call: async ({ peers, options }, input) => {
      await peers.admin.deleteRule(input, options);
      return null;
    },
  }),
];
