/** A text among the items of a storage that its driver writes itself: a pinned key, a renewed token. */
export interface KeptItem {
  /** As it is known here; another replica may have replaced it a moment ago. */
  readonly value: string;
  /**
   * Stores `after` where `before` is what is stored now. The storage is not opened anew for that, here or on other replicas.
   * @returns what is stored then: `after`, or what somebody else put there. With `before` as `after` it is a look.
   * @throws AppError STORAGE_UNAVAILABLE | FAILED_PRECONDITION (the storage is gone or switched off)
   */
  replace(before: string, after: string): Promise<string>;
}
