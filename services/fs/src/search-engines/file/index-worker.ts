import type { MessagePort } from 'node:worker_threads';
import { AppError } from '@wharf/errors';
import { createRuleBook, type RuleBook } from '../../domain/access/rule-book.ts';
import type { IndexState } from '../../domain/search/search-index.ts';
import { createIndexOperations } from './index-operations.ts';
import type { Steps } from './index-tables.ts';
import type { FromWorker, ToWorker } from './protocol.ts';
import { type IndexFile, isDamage, openIndexFile, replaceIndexFile } from './schema.ts';
import { searchSteps } from './search-steps.ts';
import { createStatements, type Statements } from './statements.ts';

/** How long one transaction collects changes, in milliseconds. */
const TRANSACTION_MS = 20;
/** Steps of searches without a pause after which they go on with what was committed meanwhile: until then they do not see it, and the log only grows. */
const RENEW_STEPS = 250;

interface Job {
  readonly id: number;
  readonly steps: Steps<unknown>;
}

/**
 * Serves the index file over the port: changes one after the other, many in one transaction; searches in turns with them and with each
 * other, so that none holds up the rest.
 */
export function runIndexWorker(port: MessagePort, path: string): void {
  const file = openIndexFile(path);
  const operations = createIndexOperations(file);
  const reading = createStatements(file.reader);
  const renewal = createRenewal(file, reading);
  const changes: Job[] = [];
  const searches: Job[] = [];
  let rules: { number: number; book: RuleBook } = { number: -1, book: createRuleBook([]) };
  let isScheduled = false;
  let isStopping = false;

  const tell = (message: FromWorker): void => port.postMessage(message);
  /** Pages are looked at as they are needed: of a damaged file the thread ends, and the next one finds an empty file. */
  const endIfDamaged = (error: unknown) => {
    if (!isDamage(error)) return;
    replaceIndexFile(path, closeDamaged(file, operations.readState));
    throw error;
  };
  const fail = ({ id }: Job, error: unknown) =>
    tell(AppError.is(error) ? { type: 'refused', id, code: error.code, reason: error.message } : { type: 'failed', id, error });

  const change = () => {
    const until = performance.now() + TRANSACTION_MS;
    const done: Array<{ job: Job; result: unknown }> = [];
    file.writer.exec('BEGIN IMMEDIATE');
    try {
      for (let job = changes[0]; job && performance.now() < until; job = changes[0]) {
        const step = job.steps.next();
        if (!step.done) continue;
        changes.shift();
        done.push({ job, result: step.value });
      }
      file.writer.exec('COMMIT');
      renewal.noteCommit();
    } catch (error) {
      endIfDamaged(error);
      if (file.writer.isTransaction) file.writer.exec('ROLLBACK');
      operations.forget();
      const failed = changes.shift();
      for (const { job } of done) fail(job, error);
      if (failed) fail(failed, error);
      return;
    }
    for (const { job, result } of done) tell({ type: 'done', id: job.id, result });
  };
  const search = () => {
    const job = searches.shift();
    if (!job) return renewal.pause();
    try {
      renewal.step();
      const step = job.steps.next();
      if (step.done) tell({ type: 'done', id: job.id, result: step.value });
      else searches.push(job);
    } catch (error) {
      endIfDamaged(error);
      fail(job, error);
    }
  };
  const turn = () => {
    isScheduled = false;
    if (changes.length > 0) change();
    search();
    if (changes.length > 0 || searches.length > 0) schedule();
    else if (isStopping) end();
  };
  const schedule = () => {
    if (isScheduled) return;
    isScheduled = true;
    setImmediate(turn);
  };
  const end = () => {
    file.close();
    port.close();
  };

  port.on('message', (message: ToWorker) => {
    if (message.type === 'rules') rules = { number: message.number, book: createRuleBook(message.rules) };
    if (message.type === 'search') {
      const query = { ...message.query, viewer: { ...message.query.viewer, rules: [] } };
      searches.push({ id: message.id, steps: searchSteps(reading, query, rules.book) });
    }
    if (message.type === 'cancel') {
      const at = searches.findIndex(({ id }) => id === message.id);
      for (const { steps } of at === -1 ? [] : searches.splice(at, 1)) steps.return({ hits: [], total: 0 });
    }
    if (message.type === 'operation') {
      // The other side sends the values of the method of the same name.
      const run = operations[message.name] as (...values: readonly unknown[]) => unknown;
      changes.push({ id: message.id, steps: stepsOf(() => run(...message.values)) });
    }
    if (message.type === 'stop') {
      isStopping = true;
      for (const { steps } of searches.splice(0)) steps.return({ hits: [], total: 0 });
    }
    schedule();
  });
  tell({ type: 'ready' });
}

/** @returns its state, where that can be read still */
function closeDamaged(file: IndexFile, readState: () => IndexState): IndexState | undefined {
  try {
    if (file.writer.isTransaction) file.writer.exec('ROLLBACK');
    return readState();
  } catch {
    return undefined;
  } finally {
    file.close();
  }
}

/** Has searches go on with what was committed meanwhile, where one is always under way. */
function createRenewal({ writer }: IndexFile, reading: Statements) {
  let steps = 0;
  let hasChanged = false;
  return {
    noteCommit() {
      hasChanged = true;
    },
    /** No search is under way. */
    pause() {
      steps = 0;
    },
    /** Before each step of a search. */
    step() {
      steps += 1;
      if (!hasChanged || steps <= RENEW_STEPS) return;
      steps = 0;
      hasChanged = false;
      reading.cut();
      // While nobody reads, the file takes all of its log in, which then begins anew.
      writer.exec('PRAGMA wal_checkpoint');
    },
  };
}

/** Operations that are done at once are one step. */
function* stepsOf(run: () => unknown): Steps<unknown> {
  const result = run();
  return isSteps(result) ? yield* result : result;
}

function isSteps(result: unknown): result is Steps<unknown> {
  return typeof result === 'object' && result !== null && 'next' in result;
}
