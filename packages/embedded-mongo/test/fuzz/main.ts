import { parseArgs } from 'node:util';
import { isMissing, makeTempDir } from '@wharf/harness';
import { startEmbeddedMongo } from '../../src/index.ts';
import { openRealEngine } from '../real-engine.ts';
import { runFuzz } from './run-fuzz.ts';

const { values } = parseArgs({
  options: {
    operations: { type: 'string', default: '10000' },
    seed: { type: 'string', default: '1' },
    lanes: { type: 'string', default: '8' },
    show: { type: 'string', default: '20' },
  },
});
const engine = await openRealEngine();
if (isMissing(engine)) throw new Error(engine.missing);
const dir = await makeTempDir('fuzz');
const store = await startEmbeddedMongo({ dataDir: dir.path });
let left = Number(values.show);
const summary = await runFuzz({
  storeUrl: store.url,
  engineUrl: engine.url,
  operations: Number(values.operations),
  seed: Number(values.seed),
  lanes: Number(values.lanes),
  onDifference: (difference) => {
    if (left-- > 0) console.error(JSON.stringify(difference, null, 1));
  },
});
console.error(JSON.stringify(summary));
await store.stop();
await engine.stop();
await dir.remove();
process.exitCode = summary.differences === 0 ? 0 : 1;
