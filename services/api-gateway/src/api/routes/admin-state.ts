import { readFileSync } from 'node:fs';
import { AppError } from '@wharf/errors';
import { z } from 'zod';
import { type CallerContext, nothing, type Route, route } from '../route.ts';

/** A service that has not answered by then is not there for people either. */
const ANSWERS_WITHIN_MS = 5_000;

/** The version of this gateway: all services are released together. */
const VERSION = z
  .object({ version: z.string() })
  .parse(JSON.parse(readFileSync(new URL('../../../package.json', import.meta.url), 'utf8'))).version;

/** A small question to each service; whoever answers it works. */
const QUESTIONS: Readonly<Record<string, (context: CallerContext, options: CallerContext['options']) => Promise<unknown>>> = {
  auth: ({ peers }, options) => peers.auth.listAudit({ page: 1, per_page: 1 }, options),
  admin: ({ peers }, options) => peers.admin.listRules({ page: 1, per_page: 1 }, options),
  fs: ({ peers }, options) => peers.fs.listStorageHealth({}, options),
  downloader: ({ peers }, options) => peers.downloader.listTools({}, options),
};

/** How the services get on. */
export const adminStateRoutes: readonly Route[] = [
  route({
    methods: ['GET'],
    path: '/api/admin/state',
    access: 'admin',
    summary: 'The version of Wharf, and of each service whether it answers, within how many milliseconds, or the name of its error.',
    takes: 'query',
    input: nothing,
    answer: z.object({
      version: z.string(),
      node_version: z.string(),
      services: z.array(z.object({ name: z.string(), works: z.boolean(), latency_ms: z.number(), error: z.string() })),
    }),
    call: async (context) => ({
      version: VERSION,
      node_version: process.versions.node,
      services: await Promise.all(
        Object.entries(QUESTIONS).map(([name, ask]) => lookAt(name, (options) => ask(context, options), context)),
      ),
    }),
  }),
];

async function lookAt(name: string, ask: (options: CallerContext['options']) => Promise<unknown>, { options }: CallerContext) {
  const signals = [AbortSignal.timeout(ANSWERS_WITHIN_MS), ...(options.signal ? [options.signal] : [])];
  const begun = performance.now();
  const error = await ask({ ...options, signal: AbortSignal.any(signals) }).then(
    () => '',
    (thrown: unknown) => (AppError.is(thrown) ? thrown.code : 'DEADLINE_EXCEEDED'),
  );
  return { name, works: error === '', latency_ms: Math.round(performance.now() - begun), error };
}
