/** An account with everything that is known of it. */
export interface User {
  readonly id: number;
  readonly username: string;
  /** What makes the name unique: see {@link parseUsername}. */
  readonly usernameKey: string;
  /** Users gave themselves this name, and no administrator has saved it since: it does not say who they are to anybody else. */
  readonly choseName: boolean;
  /** argon2id of the static hash; empty while no password was ever set, and then nobody can log in. */
  readonly passwordHash: string;
  /** Unix seconds of the last password change; rises with each change, even within one second. */
  readonly pwdTs: number;
  readonly basePath: string;
  readonly role: number;
  readonly permission: number;
  readonly disabled: boolean;
  readonly ssoId: string;
  readonly allowLdap: boolean;
  /** What the files below the base path may have in bytes; 0: as much as there is room for. */
  readonly quotaBytes: number;
  /** Sealed; empty while two-step verification is off. */
  readonly otpSecret: string;
}
