/** A login that was not ended. */
export interface Session {
  readonly id: string;
  readonly userId: number;
  readonly address: string;
  /** What the client called itself; empty when it did not say. */
  readonly device: string;
  readonly createdAt: Date;
  readonly expiresAt: Date;
}
