// `npm run chaos:downloads`: downloads under kill -9, and a report of what arrived. Ends with 1 when something is missing, damaged or left over.
import { parseArgs } from 'node:util';
import { runDownloadChaos } from '../support/download-chaos.ts';

const { values } = parseArgs({
  options: {
    replicas: { type: 'string', default: '3' },
    files: { type: 'string', default: '200' },
    'max-mib': { type: 'string', default: '8' },
    seconds: { type: 'string', default: '120' },
    every: { type: 'string', default: '5' },
    rate: { type: 'string', default: '60000' },
  },
});
const report = await runDownloadChaos({
  replicas: Number(values.replicas),
  files: Number(values.files),
  maxFileBytes: Number(values['max-mib']) * 1024 * 1024,
  killEveryMs: Number(values.every) * 1000,
  killForMs: Number(values.seconds) * 1000,
  restartsBus: true,
  restartsStore: true,
  bytesPerSecond: Number(values.rate),
  tell: (text) => console.error(text),
});
console.log(JSON.stringify(report, undefined, 2));
console.log(
  `${report.arrived} of ${report.files} files arrived byte by byte, ${report.surplus.length} twice, ${report.kills} kills in ${Math.round(report.seconds)} s, ` +
    `${((report.fetchedBytes - report.contentBytes) / 1024 ** 2 / Math.max(1, report.kills)).toFixed(1)} MiB fetched again for each kill`,
);
if (report.arrived < report.files || report.surplus.length + report.debris.length + report.failed.length > 0) process.exitCode = 1;
