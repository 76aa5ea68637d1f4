// For `node --import`: ends this process by SIGKILL right after its n-th step, which `WHARF_TEST_KILL_AT` names: `files:3` is the third change
// in a folder by the main thread, `store:5` the fifth transaction of the embedded store. `WHARF_TEST_STEPS` is a file that gets a line for each.
import fs from 'node:fs';
import files from 'node:fs/promises';
import { syncBuiltinESMExports } from 'node:module';
import { DatabaseSync } from 'node:sqlite';
import { isMainThread } from 'node:worker_threads';

const [kind = '', number = '0'] = (process.env['WHARF_TEST_KILL_AT'] ?? '').split(':');
const left = { files: 0, store: 0, [kind]: Number(number) };
const steps = fs.openSync(process.env['WHARF_TEST_STEPS'] ?? '/dev/null', 'a');

function step(of: 'files' | 'store', what: string): void {
  fs.writeSync(steps, `${of} ${what}\n`);
  left[of] -= 1;
  if (left[of] === 0) process.kill(process.pid, 'SIGKILL');
}

type Call = (...values: unknown[]) => unknown;
function watch(owner: object, names: readonly string[]): void {
  for (const name of names) {
    const call = Reflect.get(owner, name) as Call;
    Reflect.set(owner, name, (...values: unknown[]) => {
      const result = call(...values);
      const count = () => step('files', `${name} ${String(values[0])}`);
      if (result instanceof Promise) return result.finally(count);
      count();
      return result;
    });
  }
}

if (isMainThread) {
  watch(files, ['chmod', 'link', 'mkdir', 'open', 'rename', 'unlink', 'writeFile']);
  watch(fs, ['mkdirSync', 'writeFileSync', 'renameSync', 'linkSync']);
  syncBuiltinESMExports();
} else {
  const { exec } = DatabaseSync.prototype;
  DatabaseSync.prototype.exec = function (sql) {
    exec.call(this, sql);
    if (sql.endsWith('COMMIT') || sql.endsWith('COMMIT;')) step('store', sql.slice(0, 40));
  };
}
