import { AppError } from '@wharf/errors';
import { z } from 'zod';
import { int32, list, requiredText, text } from '../fields.ts';
import { absentRoute, nothing, type Route, route } from '../route.ts';
import { nothingBack, settingShape } from '../shapes.ts';

/** There are a dozen; a body has room for two million. */
const MAX_GROUPS = 100;

const groupsInput = z.object({ group: text(), groups: text() });

/** The groups that are asked for, none for all. `groups` is a comma list and counts before `group`. */
function groupsOf({ group, groups }: z.output<typeof groupsInput>): number[] {
  const asked = groups === '' ? group : groups;
  if (asked === '') return [];
  const parts = asked.split(',', MAX_GROUPS + 1);
  if (parts.length > MAX_GROUPS) throw new AppError('INVALID_ARGUMENT', `no more than ${MAX_GROUPS} groups at once`);
  return parts.map((part) => {
    if (!/^\s*-?\d{1,9}\s*$/.test(part)) throw new AppError('INVALID_ARGUMENT', `the group '${part}' must be a number`);
    return Number(part);
  });
}

const settingsInput = list(
  z.object({
    key: requiredText(),
    value: text(),
    help: text(),
    type: text(),
    options: text(),
    group: int32(),
    flag: int32(),
    index: int32(),
  }),
);

const rpcToolInput = z.object({ uri: text(), secret: text() });
const torrentToolInput = z.object({ url: text(), seedtime: text() });
const transmissionInput = z.object({ uri: text(), seedtime: text() });

/** The download tools, two of them under a neutral name and the one that existing clients use. */
const toolRoutes: readonly Route[] = [
  ...(['set_rpcdl', 'set_aria2'] as const).map((name) =>
    route({
      methods: ['POST'],
      path: `/api/admin/setting/${name}`,
      access: 'admin',
      summary: 'Connects to the JSON-RPC download manager, stores its address when it answered, and answers its version.',
      takes: 'body',
      input: rpcToolInput,
      answer: z.string(),
      // Clients of the family print the text as it is.
      call: async ({ peers, options }, input) => `aria2 version: ${(await peers.admin.setRpcDownloadTool(input, options)).version}`,
    }),
  ),
  ...(['set_torrent', 'set_qbit'] as const).map((name) =>
    route({
      methods: ['POST'],
      path: `/api/admin/setting/${name}`,
      access: 'admin',
      summary: 'Connects to the torrent client, stores its address when it answered, and answers its version.',
      takes: 'body',
      input: torrentToolInput,
      answer: z.string(),
      call: async ({ peers, options }, input) => (await peers.admin.setTorrentTool(input, options)).version,
    }),
  ),
  route({
    methods: ['POST'],
    path: '/api/admin/setting/set_transmission',
    access: 'admin',
    summary: 'Connects to Transmission and stores its address when it answered.',
    takes: 'body',
    input: transmissionInput,
    answer: z.string(),
    call: async ({ peers, options }, input) => {
      await peers.admin.setTransmissionTool(input, options);
      return 'ok';
    },
  }),
  ...(['115', '115_open', '123_pan', '123_open', 'pikpak', 'thunder', 'thunderx', 'thunder_browser', 'guangyapan'] as const).map((tool) =>
    absentRoute({
      methods: ['POST'],
      path: `/api/admin/setting/set_${tool}`,
      access: 'admin',
      envelopeCode: 500,
      message: 'this download tool is not available',
    }),
  ),
];

export const adminSettingRoutes: readonly Route[] = [
  route({
    methods: ['GET'],
    path: '/api/admin/setting/list',
    access: 'admin',
    summary: 'Setting items: all, or those of some groups.',
    takes: 'query',
    input: groupsInput,
    answer: z.array(settingShape),
    call: async ({ peers, options }, input) => (await peers.admin.listSettings({ groups: groupsOf(input) }, options)).items,
  }),
  route({
    methods: ['GET'],
    path: '/api/admin/setting/get',
    access: 'admin',
    summary: 'One setting item by `key`, or an array of them by `keys`.',
    takes: 'query',
    input: z.object({ key: text(), keys: text() }),
    codes: { RECORD_NOT_FOUND: 400 },
    answer: z.union([settingShape, z.array(settingShape)]),
    call: async ({ peers, options }, { key, keys }) => {
      const { items } = await peers.admin.getSettings({ keys: key === '' ? keys.split(',') : [key] }, options);
      if (key === '') return items;
      const [item] = items;
      if (!item) throw new AppError('RECORD_NOT_FOUND', 'record not found');
      return item;
    },
  }),
  route({
    methods: ['POST'],
    path: '/api/admin/setting/save',
    access: 'admin',
    summary: 'Stores the values of all items, or of none.',
    takes: 'body',
    input: settingsInput,
    answer: nothingBack,
    call: async ({ peers, options }, items) => {
      await peers.admin.saveSettings({ items }, options);
      return null;
    },
  }),
  route({
    methods: ['POST'],
    path: '/api/admin/setting/delete',
    access: 'admin',
    summary: 'Forgets a deprecated setting.',
    takes: 'query',
    input: z.object({ key: text() }),
    answer: z.object({}),
    call: async ({ peers, options }, input) => {
      await peers.admin.deleteSetting(input, options);
      return {};
    },
  }),
  route({
    methods: ['POST'],
    path: '/api/admin/setting/default',
    access: 'admin',
    summary: 'The factory items with their default values; stores nothing.',
    takes: 'query',
    input: groupsInput,
    answer: z.array(settingShape),
    call: async ({ peers, options }, input) => (await peers.admin.listDefaultSettings({ groups: groupsOf(input) }, options)).items,
  }),
  route({
    methods: ['POST'],
    path: '/api/admin/setting/reset_token',
    access: 'admin',
    summary: 'Replaces the permanent token; every link signed under the old one stops working.',
    takes: 'query',
    input: nothing,
    answer: z.string(),
    call: async ({ peers, options }) => (await peers.auth.resetPermanentToken({}, options)).token,
  }),
  ...toolRoutes,
];
