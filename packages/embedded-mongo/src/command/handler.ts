import type { Catalog } from '../storage/catalog.ts';
import type { Cursors } from './cursors.ts';
import type { Reply } from './reply.ts';
import type { Request } from './request.ts';

/** What the handlers of commands work on. */
export interface CommandContext {
  readonly catalog: Catalog;
  readonly cursors: Cursors;
  /** The store's clock. */
  readonly now: () => Date;
  readonly connectionId: number;
  readonly openConnections: () => number;
  /** As `StoreFile.copyAs`; for commands that run alone. */
  readonly copyAs: (name: string) => void;
}

export interface Handler {
  /**
   * A write runs in the batch's transaction. A read does not need one, and may be run again; what moves a cursor may not. What runs alone has a batch
   * of its own, and no transaction.
   */
  readonly kind: 'read' | 'cursor' | 'write' | 'alone';
  readonly run: (request: Request, context: CommandContext) => Reply;
}
