import { z } from 'zod';
import { id, pageOf, paging, text } from '../fields.ts';
import { type Route, route } from '../route.ts';
import { auditEntryShape, pageShape } from '../shapes.ts';

export const adminAuditRoutes: readonly Route[] = [
  route({
    methods: ['GET'],
    path: '/api/admin/audit/list',
    access: 'admin',
    summary: 'The audit trail, the newest first: logins, failures, changes of credentials and permissions. At most 500 entries per page.',
    takes: 'query',
    input: z.object({ ...paging, action: text(), user_id: id().default(0), address: text(), since: text(), until: text() }),
    answer: pageShape(auditEntryShape),
    call: ({ peers, options }, input) => peers.auth.listAudit({ ...input, ...pageOf(input) }, options),
  }),
];
