import type { ErrorCode } from '@wharf/errors';
import type { RuleRecord } from '@wharf/models';
import type { SearchQuery } from '../../domain/search/search-index.ts';
import type { IndexOperations } from './index-operations.ts';

export type OperationName = keyof IndexOperations;

/** A query with its rules by number: they travel once. */
export type WireQuery = Omit<SearchQuery, 'viewer'> & { readonly viewer: Omit<SearchQuery['viewer'], 'rules'>; readonly rules: number };

export type ToWorker =
  | { readonly type: 'rules'; readonly number: number; readonly rules: readonly RuleRecord[] }
  | { readonly type: 'search'; readonly id: number; readonly query: WireQuery }
  | { readonly type: 'cancel'; readonly id: number }
  | { readonly type: 'operation'; readonly id: number; readonly name: OperationName; readonly values: readonly unknown[] }
  | { readonly type: 'stop' };

export type FromWorker =
  | { readonly type: 'ready' }
  | { readonly type: 'done'; readonly id: number; readonly result: unknown }
  | { readonly type: 'failed'; readonly id: number; readonly error: unknown }
  /** An AppError, which would lose its code as it travels. */
  | { readonly type: 'refused'; readonly id: number; readonly code: ErrorCode; readonly reason: string };
