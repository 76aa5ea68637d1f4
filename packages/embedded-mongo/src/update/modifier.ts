import type { Value } from '../bson/value.ts';

export const KEEP = Symbol('keep');

/** What a modifier is told besides the value it changes. */
export interface ModifierContext {
  readonly now: Date;
  /** The document's `_id`, for error texts. */
  readonly id: Value | undefined;
}

/** Answers the field's next value: undefined removes the field, {@link KEEP} leaves everything as it is. */
export type Modifier = (current: Value | undefined, context: ModifierContext) => Value | undefined | typeof KEEP;
