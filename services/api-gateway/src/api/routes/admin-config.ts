import { z } from 'zod';
import { flag, jsonText, text } from '../fields.ts';
import { AnswerAsJson, type Route, route } from '../route.ts';

const importedRecordShape = z.object({ kind: z.string(), name: z.string(), outcome: z.string(), note: z.string() });

export const adminConfigRoutes: readonly Route[] = [
  route({
    methods: ['POST'],
    path: '/api/admin/config/export',
    access: 'admin',
    summary: 'Settings, users, storages and rules as one JSON document; secrets are left out, or encrypted under a passphrase.',
    takes: 'body',
    input: z.object({ passphrase: text() }),
    answer: z.record(z.string(), z.unknown()),
    call: async ({ peers, options, hold }, input) => {
      const pieces: Uint8Array[] = [];
      let length = 0;
      for await (const { document } of peers.admin.exportConfiguration(input, options)) {
        length += document.length;
        hold(length);
        pieces.push(document);
      }
      return new AnswerAsJson(pieces);
    },
  }),
  route({
    methods: ['POST'],
    path: '/api/admin/config/import',
    access: 'admin',
    summary:
      'Takes such a document, or a backup of the API family, and reports what became of each record; checked whole before it is written.',
    takes: 'body',
    input: z.object({
      document: z.union([z.record(z.string(), z.unknown()), jsonText().regex(/^\s*\{/)]),
      passphrase: text(),
      dry_run: flag(),
    }),
    answer: z.object({ records: z.array(importedRecordShape), is_written: z.boolean() }),
    call: async ({ peers, options }, { document, ...input }) => {
      const text = typeof document === 'string' ? document : JSON.stringify(document);
      const { records, is_written } = await peers.admin.importConfiguration({ ...input, document: text }, options);
      return { records, is_written };
    },
  }),
];
