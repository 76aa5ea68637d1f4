import { z } from 'zod';
import { flag, list, names, text, texts } from '../fields.ts';
import { AnswerWithMessage, absentRoute, type Route, route } from '../route.ts';
import { nothingBack, queuedShape, showQueued, showTask, taskShape } from '../shapes.ts';

const NOT_BUILT = { methods: ['POST'], access: 'guest', envelopeCode: 500, message: 'not implement' } as const;

export const fsWriteRoutes: readonly Route[] = [
  route({
    methods: ['POST'],
    path: '/api/fs/mkdir',
    access: 'guest',
    permission: 'write',
    summary: 'Makes a folder and the folders above it.',
    takes: 'body',
    input: z.object({ path: text() }),
    answer: nothingBack,
    call: async ({ peers, options }, input) => {
      await peers.fs.makeDirectory(input, options);
      return null;
    },
  }),
  route({
    methods: ['POST'],
    path: '/api/fs/rename',
    access: 'guest',
    permission: 'rename',
    summary: 'Gives a file or folder another name.',
    takes: 'body',
    input: z.object({ path: text(), name: text(), overwrite: flag() }),
    answer: nothingBack,
    call: async ({ peers, options }, input) => {
      await peers.fs.renameEntry(input, options);
      return null;
    },
  }),
  route({
    methods: ['POST'],
    path: '/api/fs/batch_rename',
    access: 'guest',
    permission: 'rename',
    summary: 'Gives several entries of a folder other names.',
    takes: 'body',
    input: z.object({ src_dir: text(), rename_objects: list(z.object({ src_name: text(), new_name: text() })).default([]) }),
    answer: nothingBack,
    call: async ({ peers, options }, input) => {
      await peers.fs.batchRename(input, options);
      return null;
    },
  }),
  route({
    methods: ['POST'],
    path: '/api/fs/regex_rename',
    access: 'guest',
    permission: 'rename',
    summary: 'Renames every entry of a folder whose name matches an RE2 pattern.',
    takes: 'body',
    input: z.object({ src_dir: text(), src_name_regex: text(), new_name_regex: text() }),
    answer: nothingBack,
    call: async ({ peers, options }, input) => {
      await peers.fs.regexRename(input, options);
      return null;
    },
  }),
  route({
    methods: ['POST'],
    path: '/api/fs/move',
    access: 'guest',
    permission: 'move',
    summary: 'Moves entries of a folder into another folder.',
    takes: 'body',
    input: z.object({ src_dir: text(), dst_dir: text(), names: names(), overwrite: flag(), skip_existing: flag() }),
    answer: queuedShape,
    call: async ({ peers, options }, input) => showQueued('move', (await peers.fs.moveEntries(input, options)).tasks),
  }),
  route({
    methods: ['POST'],
    path: '/api/fs/recursive_move',
    access: 'guest',
    permission: 'move',
    summary: 'Moves every file below a folder directly into another folder.',
    takes: 'body',
    input: z.object({ src_dir: text(), dst_dir: text(), conflict_policy: text() }),
    answer: nothingBack,
    call: async ({ peers, options }, input) => {
      const { moved } = await peers.fs.recursiveMove(input, options);
      return new AnswerWithMessage(`Successfully moved ${moved} ${moved === 1 ? 'file' : 'files'}`, null);
    },
  }),
  route({
    methods: ['POST'],
    path: '/api/fs/copy',
    access: 'guest',
    permission: 'copy',
    summary: 'Copies entries of a folder into another folder.',
    takes: 'body',
    input: z.object({ src_dir: text(), dst_dir: text(), names: names(), overwrite: flag(), skip_existing: flag(), merge: flag() }),
    answer: queuedShape,
    call: async ({ peers, options }, input) => showQueued('copy', (await peers.fs.copyEntries(input, options)).tasks),
  }),
  route({
    methods: ['POST'],
    path: '/api/fs/remove',
    access: 'guest',
    permission: 'delete',
    summary: 'Removes entries of a folder; one that is not there is removed already.',
    takes: 'body',
    input: z.object({ dir: text(), names: names() }),
    answer: nothingBack,
    call: async ({ peers, options }, input) => {
      await peers.fs.removeEntries(input, options);
      return null;
    },
  }),
  route({
    methods: ['POST'],
    path: '/api/fs/remove_if_empty',
    access: 'guest',
    permission: 'delete',
    summary: 'Removes folders of a folder as fs/remove does, but none in which anything is, listed or not, and no file.',
    takes: 'body',
    input: z.object({ dir: text(), names: names() }),
    answer: nothingBack,
    call: async ({ peers, options }, input) => {
      await peers.fs.removeIfEmpty(input, options);
      return null;
    },
  }),
  route({
    methods: ['POST'],
    path: '/api/fs/remove_empty_directory',
    access: 'guest',
    permission: 'delete',
    summary: 'Removes the empty folders below a folder.',
    takes: 'body',
    input: z.object({ src_dir: text() }),
    answer: nothingBack,
    call: async ({ peers, options }, input) => {
      await peers.fs.removeEmptyDirectories(input, options);
      return null;
    },
  }),
  route({
    methods: ['POST'],
    path: '/api/fs/add_offline_download',
    access: 'guest',
    permission: 'offline_download',
    summary: 'Queues one download for each address.',
    takes: 'body',
    input: z.object({
      urls: texts(),
      path: text(),
      tool: text(),
      delete_policy: text(),
      hashes: z.object({ md5: text(), sha1: text(), sha256: text() }).prefault({}),
    }),
    answer: z.object({ tasks: z.array(taskShape) }),
    call: async ({ peers, options }, input) => ({ tasks: (await peers.downloader.addDownloads(input, options)).tasks.map(showTask) }),
  }),
  absentRoute({ ...NOT_BUILT, path: '/api/fs/archive/decompress' }),
  absentRoute({ ...NOT_BUILT, path: '/api/fs/get_direct_upload_info' }),
  absentRoute({ ...NOT_BUILT, path: '/api/fs/torrent/parse' }),
  absentRoute({ ...NOT_BUILT, path: '/api/fs/torrent/upload_parse' }),
  absentRoute({ ...NOT_BUILT, path: '/api/fs/torrent/rapid_upload' }),
  absentRoute({ ...NOT_BUILT, path: '/api/fs/torrent/generate' }),
];
