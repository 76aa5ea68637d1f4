/** A login that was not ended. */
export interface Session {
  readonly id: string;
  readonly userId: number;
  readonly address: string;
  readonly createdAt: Date;
  readonly expiresAt: Date;
}
