/** What an update knows beside the document. */
export interface UpdateContext {
  readonly now: Date;
  /** True while the document is being made by an upsert. */
  readonly isInsert: boolean;
}
