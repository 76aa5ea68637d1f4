/** Where code lives and what it may import: the direction of the architecture, as data. Whatever is not listed is forbidden. */
export interface ImportRule {
  /** Files this row speaks of: the start of their path, with `*` for one segment. The longest match counts. */
  readonly files: string;
  /** What they may import from the workspace: package names, or starts of paths (with `*`) inside their own package. */
  readonly may: readonly string[];
  /** Only their types: nothing of it is there at run time. */
  readonly mayTypes?: readonly string[];
  /** True where npm packages are nobody's business but their folder's; a list names the only ones. */
  readonly npm: true | readonly string[];
}

const TESTS_MAY = ['@wharf/egress', '@wharf/harness', '@wharf/embedded-mongo', '@wharf/embedded-nats'];
const KITS = [
  '@wharf/egress',
  '@wharf/errors',
  '@wharf/pace',
  '@wharf/held-folders',
  '@wharf/paths',
  '@wharf/models',
  '@wharf/owned-names',
  '@wharf/proto',
  '@wharf/rights',
  '@wharf/service-kit',
  '@wharf/task-engine',
];

export const IMPORT_RULES: readonly ImportRule[] = [
  { files: 'packages/errors/', may: ['packages/errors/'], npm: [] },
  { files: 'packages/rights/', may: ['packages/rights/'], npm: [] },
  { files: 'packages/paths/', may: ['packages/paths/', '@wharf/errors'], npm: [] },
  { files: 'packages/pace/', may: ['packages/pace/', '@wharf/errors'], npm: ['zod'] },
  { files: 'packages/egress/', may: ['packages/egress/', '@wharf/errors', '@wharf/pace'], npm: [] },
  { files: 'packages/held-folders/', may: ['packages/held-folders/'], npm: [] },
  { files: 'packages/owned-names/', may: ['packages/owned-names/'], npm: [] },
  { files: 'packages/models/', may: ['packages/models/', '@wharf/errors'], npm: true },
  {
    files: 'packages/service-kit/',
    may: ['packages/service-kit/', '@wharf/errors', '@wharf/pace', '@wharf/proto', '@wharf/rights'],
    npm: true,
  },
  {
    files: 'packages/task-engine/',
    may: ['packages/task-engine/', '@wharf/errors', '@wharf/models', '@wharf/pace', '@wharf/proto', '@wharf/rights', '@wharf/service-kit'],
    npm: true,
  },
  { files: 'packages/embedded-mongo/', may: ['packages/embedded-mongo/', '@wharf/errors'], npm: ['bson'] },
  { files: 'packages/embedded-nats/', may: ['packages/embedded-nats/', '@wharf/errors'], npm: [] },

  { files: 'services/*/src/', may: ['services/*/src/', ...KITS], npm: true },
  {
    files: 'services/*/src/domain/',
    may: ['services/*/src/domain/', '@wharf/errors', '@wharf/pace', '@wharf/paths', '@wharf/rights'],
    mayTypes: ['@wharf/models', '@wharf/service-kit'],
    npm: ['zod', 're2js', 'lru-cache'],
  },
  {
    files: 'services/*/src/store/',
    may: [
      'services/*/src/store/',
      'services/*/src/domain/',
      '@wharf/errors',
      '@wharf/models',
      '@wharf/pace',
      '@wharf/paths',
      '@wharf/service-kit',
    ],
    npm: true,
  },

  {
    files: 'services/api-gateway/src/domain/',
    may: ['services/api-gateway/src/domain/', '@wharf/errors', '@wharf/rights'],
    mayTypes: ['@wharf/service-kit'],
    npm: [],
  },
  // The catalogue of settings is data.
  {
    files: 'services/admin/src/domain/',
    may: ['services/admin/src/domain/', '@wharf/errors', '@wharf/pace', '@wharf/paths', '@wharf/models', '@wharf/rights'],
    npm: ['re2js', 'zod'],
  },
  {
    files: 'services/downloader/src/domain/',
    may: ['services/downloader/src/domain/', '@wharf/errors', '@wharf/pace', '@wharf/paths', '@wharf/rights'],
    npm: ['content-disposition', 'zod'],
  },
  ...fsDomain(['access', 'quota', 'mounts', 'snapshot', 'reading', 'changing', 'writes', 'uploads', 'search']),
  {
    files: 'services/fs/src/domain/testing/',
    may: ['services/fs/src/domain/', 'services/fs/src/driver-contract/', '@wharf/errors', '@wharf/pace', '@wharf/paths', '@wharf/rights'],
    mayTypes: ['@wharf/models', '@wharf/service-kit'],
    npm: ['re2js', 'lru-cache'],
  },
  ...folders('api-gateway', { api: ['domain/'], http: ['domain/', 'api/'] }),
  ...folders('auth', { crypto: ['domain/'], api: ['domain/', 'store/', 'parts.ts'] }),
  ...folders('admin', { clients: ['domain/'], events: ['store/'], api: ['domain/', 'store/', 'clients/', 'events/'] }),
  ...folders('downloader', {
    fetch: ['domain/'],
    tools: ['domain/', 'fetch/', 'store/'],
    clients: ['domain/', 'fetch/'],
    tasks: ['domain/', 'fetch/', 'tools/', 'store/', 'clients/'],
    api: ['domain/', 'tools/', 'tasks/'],
  }),
  ...folders('fs', {
    clients: ['domain/'],
    metrics: ['domain/', 'driver-contract/'],
    events: ['domain/', 'store/'],
    'search-engines': ['domain/', 'configuration.ts'],
    thumbnails: ['domain/', 'driver-contract/'],
    tasks: ['domain/', 'driver-contract/', 'configuration.ts'],
    api: ['domain/', 'driver-contract/', 'context.ts'],
    'data-plane': ['domain/', 'driver-contract/', 'context.ts', 'tasks/', 'thumbnails/'],
  }),
  {
    files: 'services/fs/src/driver-contract/',
    may: ['services/fs/src/driver-contract/', '@wharf/errors', '@wharf/owned-names', '@wharf/pace', '@wharf/paths'],
    mayTypes: ['@wharf/egress'],
    npm: ['zod', 'lru-cache', 'saxes'],
  },
  {
    files: 'services/fs/src/drivers/',
    may: ['services/fs/src/drivers/*/index.ts'],
    mayTypes: ['services/fs/src/driver-contract/'],
    npm: [],
  },
  {
    files: 'services/fs/src/drivers/*/',
    may: [
      'services/fs/src/drivers/=/',
      'services/fs/src/driver-contract/',
      '@wharf/errors',
      '@wharf/held-folders',
      '@wharf/owned-names',
      '@wharf/pace',
      '@wharf/paths',
    ],
    mayTypes: ['@wharf/egress'],
    npm: true,
  },

  {
    files: 'services/standalone/src/',
    may: [
      'services/standalone/src/',
      '@wharf/service-kit',
      '@wharf/errors',
      '@wharf/proto',
      '@wharf/embedded-mongo',
      '@wharf/task-engine',
      '@wharf/api-gateway',
      '@wharf/auth',
      '@wharf/admin',
      '@wharf/fs',
      '@wharf/downloader',
    ],
    npm: ['zod'],
  },

  { files: 'proto/gen/', may: ['proto/gen/'], npm: ['@bufbuild/protobuf', 'nice-grpc-common'] },
  { files: 'test/harness/', may: ['test/harness/'], npm: ['@aws-sdk/client-s3'] },
  {
    files: 'test/e2e/',
    may: ['test/e2e/', '@wharf/harness'],
    npm: ['@aws-sdk/client-s3', 'ajv', 'axe-core', 'fast-check', 'mongoose', 'playwright-core', 'puppeteer-core', 'tus-js-client', 'vite'],
  },
  {
    files: 'test/deploy/',
    may: ['test/deploy/', '@wharf/harness', '@wharf/service-kit'],
    npm: ['@prometheus-io/lezer-promql', 'ajv', 'kubernetes-models', 'yaml', 'zod'],
  },
  {
    files: 'test/contract/',
    may: [
      'test/contract/',
      'test/e2e/scenarios/all-scenarios.ts',
      'test/e2e/support/cluster.ts',
      'test/e2e/support/service-ports.ts',
      'test/e2e/support/world.ts',
      'tools/run-tests.ts',
      '@wharf/errors',
      '@wharf/harness',
      '@wharf/proto',
      '@wharf/service-kit',
    ],
    npm: ['testcontainers', 'yaml'],
  },
  {
    files: 'test/bench/',
    may: ['test/bench/', 'test/e2e/support/', '@wharf/harness', '@wharf/egress'],
    npm: ['@aws-sdk/client-s3', 'bson', 'express', 'mongoose'],
  },
  {
    files: 'tools/',
    may: [
      'tools/',
      '@wharf/service-kit',
      '@wharf/task-engine',
      '@wharf/errors',
      '@wharf/rights',
      'services/*/src/config.ts',
      'services/api-gateway/src/api/',
      'services/fs/src/drivers/index.ts',
    ],
    mayTypes: ['services/fs/src/driver-contract/'],
    npm: [],
  },
  // What has no page around it knows nothing of the page's parts.
  { files: 'web/', may: [], npm: ['vite', 'vite-plugin-solid'] },
  { files: 'web/src/', may: ['web/src/'], npm: true },
  { files: 'web/src/api/', may: ['web/src/api/', 'web/src/kept.ts'], npm: ['solid-js'] },
  { files: 'web/src/i18n/', may: ['web/src/i18n/', 'web/src/kept.ts'], npm: ['solid-js'] },
  { files: 'web/src/parts/', may: ['web/src/parts/', 'web/src/i18n/'], npm: ['solid-js', '@kobalte/core', 'lucide'] },
];

/** What a test may import beside what its own folder may. */
export const TEST_RULE: Pick<ImportRule, 'may' | 'npm'> = { may: TESTS_MAY, npm: true };

/** The subjects of fs's domain, in the order in which they build on each other: each may import itself and those before it. */
function fsDomain(subjects: readonly string[]): ImportRule[] {
  return subjects.map((subject, index) => ({
    files: `services/fs/src/domain/${subject}/`,
    may: [
      ...subjects.slice(0, index + 1).map((earlier) => `services/fs/src/domain/${earlier}/`),
      'services/fs/src/driver-contract/',
      '@wharf/errors',
      '@wharf/pace',
      '@wharf/paths',
      '@wharf/rights',
    ],
    mayTypes: ['@wharf/egress', '@wharf/models', '@wharf/service-kit'],
    npm: ['re2js', 'lru-cache'],
  }));
}

/** What folders of a service may take from others of its own; whatever @wharf/* has for services is open to each. */
function folders(service: string, rows: Readonly<Record<string, readonly string[]>>): ImportRule[] {
  const root = `services/${service}/src/`;
  return Object.entries(rows).map(([folder, others]) => ({
    files: `${root}${folder}/`,
    may: [`${root}${folder}/`, ...others.map((other) => root + other), ...KITS],
    npm: true,
  }));
}
