// For `node --import`: stops this process by SIGSTOP right after each step of its start, until somebody lets it go on by SIGCONT. What a folder has
// at a stop is what a SIGKILL would leave there. A step is a change in a folder by the main thread, or a transaction of the embedded store.
// `WHARF_TEST_STEPS` is a file that gets a line of JSON for each step, with this process, and for what the main thread said.
import fs from 'node:fs';
import files from 'node:fs/promises';
import { syncBuiltinESMExports } from 'node:module';
import { DatabaseSync } from 'node:sqlite';
import { isMainThread } from 'node:worker_threads';

const steps = fs.openSync(process.env['WHARF_TEST_STEPS'] ?? '/dev/null', 'a');
const note = (line: object) => fs.writeSync(steps, `${JSON.stringify(line)}\n`);

function step(of: 'files' | 'store', what: string): void {
  note({ pid: process.pid, step: `${of} ${what}` });
  process.kill(process.pid, 'SIGSTOP');
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
  const write = process.stdout.write.bind(process.stdout) as Call;
  process.stdout.write = (...values: unknown[]) => {
    note({ said: String(values[0]) });
    return write(...values) as boolean;
  };
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
