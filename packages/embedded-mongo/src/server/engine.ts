import type { Doc } from '../bson/value.ts';
import { CommandError } from '../command/command-error.ts';
import { Cursors } from '../command/cursors.ts';
import { findHandler, kindOf } from '../command/find-handler.ts';
import type { CommandContext } from '../command/handler.ts';
import { encodeError, encodeReply, type Reply } from '../command/reply.ts';
import { parseRequest } from '../command/request.ts';
import { Catalog } from '../storage/catalog.ts';
import type { StoreFile } from '../storage/store-file.ts';
import { expireDocuments } from './expire-documents.ts';

const SQLITE_FULL = 13;
/** A batch is committed and answered after this long, even when more commands are waiting. */
const MAX_BATCH_MS = 100;
const MAX_BATCH_COMMANDS = 500;

/** A command waiting for its turn. */
export interface QueuedCommand {
  readonly body: Doc;
  readonly connectionId: number;
  /** Takes the encoded answer, once what the command wrote is durable. */
  readonly answer: (document: Buffer) => void;
}

export interface EngineOptions {
  /** As of {@link Catalog}. */
  readonly maxDocuments: number;
  readonly keptFor?: readonly string[];
  readonly openConnections: () => number;
  readonly onUnforeseen: (error: unknown) => void;
  /** Monotonic. @internal given by tests only */
  readonly nowMs?: () => number;
}

/**
 * Runs commands in batches: all that wait share one transaction and one sync, and are answered after it (group commit).
 *
 * A command that fails undoes its own changes only. Commands run one after the other, in order of arrival. Where a batch cannot be made durable its
 * writes fail, and what read after them is run again.
 */
export class Engine {
  readonly #file: StoreFile;
  readonly #catalog: Catalog;
  readonly #cursors: Cursors;
  readonly #openConnections: () => number;
  readonly #onUnforeseen: (error: unknown) => void;
  readonly #nowMs: () => number;
  #queue: QueuedCommand[] = [];
  #isScheduled = false;

  constructor(file: StoreFile, options: EngineOptions) {
    this.#file = file;
    this.#catalog = new Catalog(file, options.maxDocuments, options.keptFor);
    this.#openConnections = options.openConnections;
    this.#onUnforeseen = options.onUnforeseen;
    this.#nowMs = options.nowMs ?? (() => performance.now());
    this.#cursors = new Cursors(this.#nowMs);
  }

  submit(command: QueuedCommand): void {
    this.#queue.push(command);
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    // Runs after this turn's input, so that commands of other connections join the batch.
    setImmediate(() => {
      this.#isScheduled = false;
      this.runBatch();
    });
  }

  /** Runs everything that waits; nothing is left unanswered. */
  drain(): void {
    while (this.#queue.length > 0) this.runBatch();
  }

  runBatch(): void {
    const startedMs = this.#nowMs();
    const ran: { command: QueuedCommand; document: Buffer }[] = [];
    /** How many ran before the first write, and the cursor that was opened last by then. */
    let clean: { count: number; cursor: bigint } | undefined;
    for (const command of this.#queue) {
      const kind = kindOf(command.body);
      if (kind === 'alone' && ran.length > 0) break;
      if (kind === 'write') clean ??= { count: ran.length, cursor: this.#cursors.last };
      ran.push({ command, document: this.#run(command) });
      if (ran.length >= MAX_BATCH_COMMANDS || kind === 'alone' || this.#nowMs() - startedMs > MAX_BATCH_MS) break;
    }
    this.#queue = this.#queue.slice(ran.length);
    const failure = this.#commit();
    if (failure && clean) this.#cursors.killAfter(clean.cursor);
    const again: QueuedCommand[] = [];
    for (const [index, { command, document }] of ran.entries()) {
      if (!failure || index < (clean?.count ?? 0)) command.answer(document);
      // It may have read what is undone.
      else if (kindOf(command.body) === 'read') again.push(command);
      else command.answer(failure);
    }
    this.#queue.unshift(...again);
    if (this.#queue.length > 0 && !this.#isScheduled) {
      this.#isScheduled = true;
      setImmediate(() => {
        this.#isScheduled = false;
        this.runBatch();
      });
    }
  }

  /**
   * Removes some of the documents whose time has come, and forgets idle cursors.
   *
   * @returns true when there may be more: others have their turn first.
   */
  tidy(): boolean {
    this.#cursors.killIdle();
    let isMore = false;
    try {
      isMore = this.#file.write(
        () => expireDocuments(this.#catalog, new Date()),
        () => this.#catalog.reload(),
      );
    } catch (error) {
      this.#onUnforeseen(error);
    }
    return this.#commit() === undefined && isMore;
  }

  #run(command: QueuedCommand): Buffer {
    try {
      const request = parseRequest(command.body);
      const handler = findHandler(request.name);
      const context: CommandContext = {
        catalog: this.#catalog,
        cursors: this.#cursors,
        now: () => new Date(),
        connectionId: command.connectionId,
        openConnections: this.#openConnections,
        copyAs: (name) => this.#file.copyAs(name),
      };
      const run = (): Reply => handler.run(request, context);
      if (handler.kind !== 'write') return encodeReply(run());
      return encodeReply(this.#file.write(run, () => this.#catalog.reload()));
    } catch (error) {
      return encodeError(this.#commandError(error));
    }
  }

  /** @returns the answer for the commands of the batch that wrote when their changes could not be made durable: what is in memory is read again. */
  #commit(): Buffer | undefined {
    try {
      this.#file.commit();
      return undefined;
    } catch (error) {
      this.#catalog.reload();
      return encodeError(this.#commandError(error));
    }
  }

  #commandError(error: unknown): CommandError {
    if (error instanceof CommandError) return error;
    this.#onUnforeseen(error);
    const code = typeof error === 'object' && error !== null && 'errcode' in error ? Number(error.errcode) & 0xff : undefined;
    if (code === SQLITE_FULL) return new CommandError('OutOfDiskSpace', 'the disk of the store is full');
    return new CommandError('InternalError', 'the store failed to run the command; its log has the cause');
  }
}
