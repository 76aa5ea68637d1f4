import { AppError } from '@wharf/errors';
import { z } from 'zod';
import { flag, int32, integer, pageOf, paging, text } from '../fields.ts';
import { createJsonList } from '../json-list.ts';
import { AnswerAsJson, absentRoute, type JsonPiece, type Route, route } from '../route.ts';
import { entryShape, showEntry } from '../shapes.ts';

const listingShape = z.object({
  content: z.array(entryShape),
  total: z.int(),
  readme: z.string(),
  header: z.string(),
  write: z.boolean(),
  write_content_bypass: z.boolean(),
  provider: z.string(),
});

const detailShape = entryShape.extend({
  raw_url: z.string(),
  readme: z.string(),
  header: z.string(),
  provider: z.string(),
  related: z.array(entryShape),
  /** Of a file, as its download answers it; empty: it has none. Absent: `refresh` did not ask for it. */
  etag: z.string().optional(),
});

const hitShape = z.object({ parent: z.string(), name: z.string(), is_dir: z.boolean(), size: z.int(), type: z.int() });

/** Clients open shares under this path; there are none. */
function refuseSharePath(path: string): void {
  if (/^\/@s(?:\/|$)/.test(path)) throw new AppError('RECORD_NOT_FOUND', 'the share does not exist');
}

export const fsReadRoutes: readonly Route[] = [
  route({
    methods: 'any',
    path: '/api/fs/list',
    isReading: true,
    access: 'guest',
    summary: 'One page of a folder.',
    takes: 'body',
    input: z.object({ path: text(), password: text(), ...paging, refresh: flag() }),
    answer: listingShape,
    call: async ({ peers, options, siteUrl, hold }, { path, password, page, per_page, refresh }) => {
      refuseSharePath(path);
      const content: JsonPiece[] = [];
      let length = 0;
      let listing = { total: 0, readme: '', header: '', write: false, write_content_bypass: false, provider: 'unknown' };
      for await (const part of peers.fs.listEntries(
        { path, password, ...pageOf({ page, per_page }), refresh, site_url: siteUrl, as_json: true },
        options,
      )) {
        if (part.listing) listing = part.listing;
        if (part.entries_utf8.length === 0) continue;
        length += part.entries_utf8.length;
        hold(length);
        // Answers share these texts, as long as nothing is added to them.
        if (content.length > 0) content.push(',');
        content.push(part.entries_utf8);
      }
      const { total, readme, header, write, write_content_bypass, provider } = listing;
      const rest = JSON.stringify({ total, readme, header, write, write_content_bypass, provider });
      return new AnswerAsJson(['{"content":[', ...content, `],${rest.slice(1)}`]);
    },
  }),
  route({
    methods: 'any',
    path: '/api/fs/get',
    isReading: true,
    access: 'guest',
    summary: 'One file or folder, and where the bytes of a file are.',
    takes: 'body',
    input: z.object({ path: text(), password: text(), ...paging, refresh: flag() }),
    answer: detailShape,
    call: async ({ peers, options, siteUrl }, { path, password, refresh }) => {
      refuseSharePath(path);
      const entry = await peers.fs.getEntry({ path, password, site_url: siteUrl, refresh }, options);
      const { raw_url, readme, header, provider, related, etag } = entry;
      const told = { raw_url, readme, header, provider, related: related.map(showEntry) };
      return { ...showEntry(entry), ...told, ...(refresh && { etag }) };
    },
  }),
  route({
    methods: 'any',
    path: '/api/fs/dirs',
    isReading: true,
    access: 'guest',
    summary: 'The folders directly below a folder.',
    takes: 'body',
    input: z.object({ path: text(), password: text(), force_root: flag() }),
    answer: z.array(z.object({ name: z.string(), modified: z.string() })),
    call: async ({ peers, options, hold }, input) => {
      refuseSharePath(input.path);
      const folders = createJsonList(hold);
      for await (const { directories } of peers.fs.listDirectories(input, options)) folders.add(directories);
      return new AnswerAsJson(folders.pieces());
    },
  }),
  route({
    methods: 'any',
    path: '/api/fs/search',
    isReading: true,
    access: 'guest',
    summary: 'Files and folders whose names contain every keyword. With in_folder only those in the folder itself, without an index.',
    takes: 'body',
    input: z.object({
      parent: text(),
      keywords: text(),
      scope: int32(),
      page: integer(),
      per_page: integer(),
      password: text(),
      in_folder: flag(),
    }),
    codes: { UNSUPPORTED_OPERATION: 404 },
    answer: z.object({ content: z.array(hitShape), total: z.int() }),
    call: async ({ peers, options, settings, hold }, input) => {
      if (!input.in_folder && (await settings()).text('search_index') === 'none')
        throw new AppError('UNSUPPORTED_OPERATION', 'search not available');
      const hits = createJsonList(hold);
      let total = 0;
      for await (const part of peers.fs.searchEntries(input, options)) {
        total += part.total;
        hits.add(part.content);
      }
      return new AnswerAsJson(['{"content":', ...hits.pieces(), `,"total":${total}}`]);
    },
  }),
  route({
    methods: 'any',
    path: '/api/fs/other',
    access: 'guest',
    summary: 'What only one driver can do.',
    takes: 'body',
    input: z.object({ path: text(), method: text(), data: z.unknown().optional(), password: text() }),
    answer: z.unknown(),
    call: async ({ peers, options }, { path, method, data, password }) => {
      const answer = await peers.fs.callDriverMethod({ path, method, data: JSON.stringify(data ?? null), password }, options);
      return answer.data === '' ? null : JSON.parse(answer.data);
    },
  }),
  route({
    methods: ['POST'],
    path: '/api/fs/link',
    access: 'admin',
    summary: 'How the bytes of a file are reached; the path is of the whole tree.',
    takes: 'body',
    input: z.object({ path: text() }),
    answer: z.object({
      url: z.string(),
      header: z.record(z.string(), z.string()),
      Expiration: z.null(),
      concurrency: z.int(),
      part_size: z.int(),
      content_length: z.int(),
    }),
    call: async ({ peers, options, siteUrl }, { path }) => {
      const { url, header, content_length } = await peers.fs.getLink({ path, site_url: siteUrl }, options);
      return { url, header, Expiration: null, concurrency: 0, part_size: 0, content_length };
    },
  }),
  absentRoute({ methods: 'any', path: '/api/fs/archive/meta', access: 'guest', envelopeCode: 500, message: 'not implement' }),
  absentRoute({ methods: 'any', path: '/api/fs/archive/list', access: 'guest', envelopeCode: 500, message: 'not implement' }),
];
