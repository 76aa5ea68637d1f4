/** What a metric tells. The text of /metrics, docs/metrics.md and the tests of dashboards and alerts are made from it. */
export interface MetricDeclaration {
  readonly type: 'counter' | 'gauge' | 'histogram';
  /** The services that tell it; standalone tells all. */
  readonly of: readonly string[];
  readonly help: string;
  /** Of a sample; of a histogram: of what is observed. */
  readonly unit: string;
  readonly labels: readonly string[];
  /** Upper bounds of a histogram. */
  readonly buckets?: readonly number[];
}

const tasks = <const Owner extends string>(owner: Owner) =>
  ({
    type: 'gauge',
    of: [owner],
    help: 'Tasks that have not ended, by kind and state (packages/task-engine). One replica counts for all, every 15 s or more seldom where counting takes long: each tells the same.',
    unit: 'tasks',
    labels: ['kind', 'state'],
  }) as const;

const attempts = <const Owner extends string>(owner: Owner) =>
  ({
    type: 'counter',
    of: [owner],
    help: 'Attempts at tasks that this replica ended, by kind and result.',
    unit: 'attempts',
    labels: ['kind', 'result'],
  }) as const;

const claims = <const Owner extends string>(owner: Owner) =>
  ({
    type: 'histogram',
    of: [owner],
    help: 'How long tasks waited for a worker after they could have run, by kind.',
    unit: 'seconds',
    labels: ['kind'],
    buckets: [0.01, 0.05, 0.1, 0.5, 1, 5, 30, 300, 3_600],
  }) as const;

/** Every metric of our own. A histogram's series end in `_bucket`, `_sum` and `_count`. */
export const METRICS = {
  wharf_part_working: {
    type: 'gauge',
    of: ['api-gateway', 'auth', 'admin', 'fs', 'downloader'],
    help: 'Whether a part that this process needs works: 1 it does, 0 it does not and /readyz says so.',
    unit: '0 or 1',
    labels: ['part'],
  },
  http_requests_total: {
    type: 'counter',
    of: ['api-gateway'],
    help: 'Answered requests, by route and by the code in the answer (the HTTP status where an answer has none).',
    unit: 'requests',
    labels: ['route', 'code'],
  },
  http_request_duration_seconds: {
    type: 'histogram',
    of: ['api-gateway'],
    help: 'Time from the headers of a request to the end of its answer, by route.',
    unit: 'seconds',
    labels: ['route'],
    // Quick answers from memory to long transfers.
    buckets: [0.001, 0.005, 0.02, 0.1, 0.5, 2, 10, 60, 600],
  },
  wharf_request_errors_total: {
    type: 'counter',
    of: ['api-gateway'],
    help: 'Requests that were answered with an error, by route and by its name (docs/errors.md).',
    unit: 'requests',
    labels: ['route', 'error'],
  },
  wharf_auth_password_verifications_total: {
    type: 'counter',
    of: ['auth'],
    help: 'Passwords that were verified, those of unknown names included.',
    unit: 'verifications',
    labels: [],
  },
  wharf_storage_calls_total: {
    type: 'counter',
    of: ['fs'],
    help: 'Calls of a storage that ended, by its id and by outcome: ok, or failed by its own fault.',
    unit: 'calls',
    labels: ['storage', 'outcome'],
  },
  wharf_storage_call_seconds: {
    type: 'histogram',
    of: ['fs'],
    help: 'How long a storage takes for its first answer, by its id.',
    unit: 'seconds',
    labels: ['storage'],
    buckets: [0.001, 0.005, 0.02, 0.1, 0.5, 2, 10, 30],
  },
  wharf_storage_breaker: {
    type: 'gauge',
    of: ['fs'],
    help: 'Whether calls of a storage pass: 0 they do, 1 it is being looked at, 2 they are refused.',
    unit: '0 to 2',
    labels: ['storage'],
  },
  wharf_fs_tasks: tasks('fs'),
  wharf_fs_task_attempts_total: attempts('fs'),
  wharf_fs_task_claim_seconds: claims('fs'),
  wharf_downloader_tasks: tasks('downloader'),
  wharf_downloader_task_attempts_total: attempts('downloader'),
  wharf_downloader_task_claim_seconds: claims('downloader'),
  wharf_downloader_fetched_bytes_total: {
    type: 'counter',
    of: ['downloader'],
    help: 'Bytes that downloads brought in, by tool.',
    unit: 'bytes',
    labels: ['tool'],
  },
  wharf_downloader_failures_total: {
    type: 'counter',
    of: ['downloader'],
    help: 'Attempts at downloads that failed, by tool and reason (docs/errors.md).',
    unit: 'attempts',
    labels: ['tool', 'reason'],
  },
} as const satisfies Readonly<Record<string, MetricDeclaration>>;

export type MetricName = keyof typeof METRICS;
/** The names of metrics of one type. */
export type NameOf<Type extends MetricDeclaration['type']> = {
  [Name in MetricName]: (typeof METRICS)[Name]['type'] extends Type ? Name : never;
}[MetricName];
export type LabelOf<Name extends MetricName> = (typeof METRICS)[Name]['labels'][number];
