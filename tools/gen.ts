// `npm run gen`: everything in the repository that is made from something else. With --check nothing is written and a difference fails.
import { execFileSync } from 'node:child_process';
import { cpSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ERROR_CODES } from '@wharf/errors';
import { PERMISSION, PERMISSION_MEANINGS } from '@wharf/rights';
import { type ConfigDefinition, METRICS, type MetricDeclaration, processMetrics } from '@wharf/service-kit';
import { adminConfig } from '../services/admin/src/config.ts';
import { openApiDocument } from '../services/api-gateway/src/api/openapi.ts';
import { BYTE_ROUTES, EVENT_ROUTES, ROUTES } from '../services/api-gateway/src/api/route-table.ts';
import { gatewayConfig } from '../services/api-gateway/src/config.ts';
import { authConfig } from '../services/auth/src/config.ts';
import { downloaderConfig } from '../services/downloader/src/config.ts';
import { fsConfig } from '../services/fs/src/config.ts';
import { DRIVERS } from '../services/fs/src/drivers/index.ts';
import { standaloneConfig } from '../services/standalone/src/config.ts';
import { clientTypes } from './client-types.ts';
import { type DriverSources, driversDocument } from './drivers-document.ts';

const ROOT = join(import.meta.dirname, '..');
const isCheck = process.argv.includes('--check');

const differences: string[] = [];
generateProto();
writeDocument('docs/configuration.md', configurationDocument());
writeDocument('docs/errors.md', errorsDocument());
writeDocument('docs/permissions.md', permissionsDocument());
writeDocument('docs/metrics.md', metricsDocument());
writeDocument('docs/drivers.md', driversDocument(DRIVERS, driverSources()));
writeDocument('web/src/api/operations.ts', clientTypes(JSON.parse(JSON.stringify(openApiDocument(ROUTES, BYTE_ROUTES, EVENT_ROUTES)))));
for (const path of differences) console.error(`${path} is not what its source says: run \`npm run gen\``);
process.exit(differences.length === 0 ? 0 : 1);

/** proto/gen from proto/**.proto, by buf and ts-proto; neither needs the network. */
function generateProto(): void {
  const out = mkdtempSync(join(tmpdir(), 'wharf-gen-'));
  try {
    execFileSync('buf', ['generate', '--output', out], { cwd: join(ROOT, 'proto'), stdio: 'inherit' });
    const made = join(out, 'gen');
    const kept = join(ROOT, 'proto', 'gen');
    if (isCheck) {
      compareTrees(made, kept, 'proto/gen');
      return;
    }
    rmSync(kept, { recursive: true, force: true });
    cpSync(made, kept, { recursive: true });
  } finally {
    rmSync(out, { recursive: true, force: true });
  }
}

function compareTrees(made: string, kept: string, shown: string): void {
  const list = (folder: string) =>
    existsSync(folder)
      ? readdirSync(folder, { recursive: true, encoding: 'utf8' })
          .filter((name) => name.endsWith('.ts'))
          .sort()
      : [];
  const names = list(made);
  if (names.join() !== list(kept).join()) return void differences.push(shown);
  for (const name of names) if (!readFileSync(join(made, name)).equals(readFileSync(join(kept, name)))) differences.push(join(shown, name));
}

function writeDocument(path: string, text: string): void {
  const file = join(ROOT, path);
  if (!isCheck) writeFileSync(file, text);
  else if (!existsSync(file) || readFileSync(file, 'utf8') !== text) differences.push(path);
}

function driverSources(): DriverSources {
  const folder = join(ROOT, 'services/fs/src/drivers');
  const read = (...path: string[]) => readFileSync(join(...path), 'utf8');
  return {
    index: read(folder, 'index.ts'),
    readme: (name) => read(folder, name, 'README.md'),
    facts(name) {
      const facts = join(folder, name, 'facts');
      return existsSync(facts)
        ? readdirSync(facts)
            .toSorted()
            .map((file) => JSON.parse(read(facts, file)))
        : [];
    },
    figures: JSON.parse(read(ROOT, 'test/bench/driver-figures.json')),
  };
}

function configurationDocument(): string {
  const parts: ReadonlyArray<readonly [string, string, ConfigDefinition]> = [
    ['standalone', '`npm start`: everything in one process.', standaloneConfig],
    ['api-gateway', 'The HTTP API.', gatewayConfig],
    ['auth', 'Accounts and logins.', authConfig],
    ['admin', 'Storages, settings and rules.', adminConfig],
    ['fs', 'The file tree.', fsConfig],
    ['downloader', 'Offline download.', downloaderConfig],
  ];
  const sections = parts.map(([name, purpose, definition]) => {
    const rows = Object.values(definition).map(
      (key) =>
        `| \`${key.env}\`${key.mayBeInFile ? ` or \`${key.env}_FILE\`` : ''} | ${key.shownDefault} | ${key.description.replaceAll('|', '\\|')} |`,
    );
    return [`## ${name}`, '', purpose, '', '| variable | default | meaning |', '|---|---|---|', ...rows.sort(), ''].join('\n');
  });
  return [
    '# Configuration',
    '',
    'Environment variables of each process. All are read and checked before anything opens; every problem is printed at once. Generated by',
    '`npm run gen` from the `config.ts` of each service.',
    '',
    'A variable whose name ends with `_FILE` names a file that has the value, such as a secret that a container is given.',
    '',
    ...sections,
  ].join('\n');
}

function errorsDocument(): string {
  const rows = Object.entries(ERROR_CODES).map(
    ([code, { grpc, http, envelope, retry, meaning, ...row }]) =>
      `| \`${code}\` | ${grpc} | ${http} | ${envelope} | ${retry} | ${'means' in row ? row.means.join(', ') : ''} | ${meaning} |`,
  );
  return [
    '# Errors',
    '',
    'The one vocabulary of failures, from `packages/errors/src/codes.ts` by `npm run gen`. `gRPC` is the status between services, `HTTP` the',
    'status of the byte routes, `envelope` the `code` inside the answers of `/api` (whose HTTP status is always 200). `tells` is what else follows:',
    'what only reads is asked again after a `glitch`, `absent` counts against a storage that does not answer, `general` ends the work on other',
    'entries too, `trouble` is logged, a `verdict` is kept.',
    '',
    'Every answer that is an error has its name in the header `X-Error-Code`, and a task that failed in `error_code`.',
    '',
    '| code | gRPC | HTTP | envelope | retry | tells | meaning |',
    '|---|---|---|---|---|---|---|',
    ...rows,
    '',
  ].join('\n');
}

function permissionsDocument(): string {
  const rows = Object.entries(PERMISSION_MEANINGS).map(
    ([name, allows], bit) => `| ${bit} | ${Object.values(PERMISSION)[bit]} | \`${name}\` | ${allows} |`,
  );
  return `<!-- Generated by \`npm run gen\` from packages/rights. -->
# Permission bits

\`permission\` in a user is one number from 0 to 65535; each bit allows one thing. The admin passes every check, and the admin's \`permission\` always
shows all bits (65535), because clients look at the bits and not at the role. A new guest has none.

| Bit | Value | Name | Allows |
|--:|--:|---|---|
${rows.join('\n')}

A change over WebDAV, FTP or SFTP needs the bit of the protocol and the one of the operation (3 to 7): uploading over WebDAV needs 512 and 8.
A path rule can forbid what a bit allows, and its \`write\` can allow writing in one folder to those without bit 3.
`;
}

function metricsDocument(): string {
  const rows = Object.entries<MetricDeclaration>(METRICS).map(
    ([name, { type, of, help, unit, labels }]) =>
      `| \`${name}\` | ${type} | ${unit} | ${labels.map((label) => `\`${label}\``).join(', ')} | ${of.length > 2 ? 'all' : of.join(', ')} | ${help} |`,
  );
  const ofProcess = processMetrics().map(({ name, help }) => `| \`${name}\` | ${help} |`);
  return [
    '<!-- Generated by `npm run gen` from packages/service-kit/src/ops/metric-catalogue.ts. -->',
    '# Metrics',
    '',
    'What `GET /metrics` on the ops port of each process tells (`WHARF_OPS_PORT`), in the text of Prometheus. Standalone tells what all services tell, where',
    'it has an ops port. Labels are few: a storage is its id, a route the declared one. Dashboards and alerts over them are in `deploy/observability`;',
    'what to do about an alert is in [alerts.md](alerts.md).',
    '',
    '| metric | type | unit | labels | told by | meaning |',
    '|---|---|---|---|---|---|',
    ...rows,
    '',
    '## Of each process',
    '',
    '| metric | meaning |',
    '|---|---|',
    ...ofProcess,
    '',
  ].join('\n');
}
