import { z } from 'zod';
import { flag, id, idInput, list, pageOf, paging, requiredText, text } from '../fields.ts';
import { type Route, route } from '../route.ts';
import { nothingBack, pageShape, ruleShape } from '../shapes.ts';

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
