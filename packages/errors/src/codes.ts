/** What a caller may do with an error: `never` = the same call fails again; `after-backoff` = it may succeed later. */
export type Retry = 'never' | 'after-backoff';

/**
 * What else a failure means to its caller:
 * - `glitch`: it may be over a moment later, so what only reads is asked again within the call.
 * - `absent`: the storage itself did not answer. After several in a row it is looked at, and refused where that fails so too. Every other failure is an answer.
 * - `general`: the next entry of the same work would meet it too.
 * - `trouble`: an operator should see it without asking for every request.
 * - `verdict`: it is about the content of something. It stays true until the content changes, and may be cached.
 */
export type Meaning = 'glitch' | 'absent' | 'general' | 'trouble' | 'verdict';

interface ErrorRow {
  readonly grpc: number;
  readonly http: number;
  readonly envelope: number;
  readonly retry: Retry;
  readonly means?: readonly Meaning[];
  readonly meaning: string;
}

/**
 * Every way in which something can go wrong here, said in our own terms. Nothing else is thrown on purpose.
 *
 * `grpc` is the status code between services (https://grpc.io/docs/guides/status-codes/); `http` the status where real HTTP statuses
 * are used (the byte routes); `envelope` the code inside the answers of `/api`, where existing clients expect 500 for everything that has
 * no number of its own (a route may say otherwise for one error: services/api-gateway/src/api).
 */
export const ERROR_CODES = {
  INVALID_ARGUMENT: {
    grpc: 3,
    http: 400,
    envelope: 400,
    retry: 'never',
    means: ['verdict'],
    meaning: 'The request is malformed: a field is missing, of the wrong type or out of range.',
  },
  UNSAFE_PATH: {
    grpc: 3,
    http: 403,
    envelope: 403,
    retry: 'never',
    meaning: 'A path or a name would leave its folder, or cannot be a name.',
  },
  UNAUTHENTICATED: { grpc: 16, http: 401, envelope: 401, retry: 'never', meaning: 'The caller did not prove who they are.' },
  OTP_REQUIRED: {
    grpc: 16,
    http: 401,
    envelope: 402,
    retry: 'never',
    meaning: 'The password was right, but the two-step code is missing or wrong.',
  },
  PERMISSION_DENIED: { grpc: 7, http: 403, envelope: 403, retry: 'never', meaning: 'The caller may not do this.' },
  ENTRY_NOT_FOUND: { grpc: 5, http: 404, envelope: 500, retry: 'never', meaning: 'There is no file or folder at this path.' },
  MOUNT_NOT_FOUND: { grpc: 5, http: 404, envelope: 500, retry: 'never', means: ['general'], meaning: 'No storage covers this path.' },
  TASK_NOT_FOUND: { grpc: 5, http: 404, envelope: 404, retry: 'never', meaning: 'There is no such task, or it belongs to somebody else.' },
  RECORD_NOT_FOUND: {
    grpc: 5,
    http: 404,
    envelope: 500,
    retry: 'never',
    meaning: 'There is no such user, storage, rule, setting or driver.',
  },
  ENTRY_EXISTS: { grpc: 6, http: 409, envelope: 403, retry: 'never', meaning: 'Something is at the target path already.' },
  RECORD_EXISTS: { grpc: 6, http: 409, envelope: 500, retry: 'never', meaning: 'A record with this unique name or path exists already.' },
  NOT_A_DIRECTORY: { grpc: 9, http: 409, envelope: 500, retry: 'never', meaning: 'A folder was needed and this is a file.' },
  IS_A_DIRECTORY: { grpc: 9, http: 409, envelope: 500, retry: 'never', meaning: 'A file was needed and this is a folder.' },
  DIRECTORY_NOT_EMPTY: { grpc: 9, http: 409, envelope: 500, retry: 'never', meaning: 'The folder still has entries.' },
  FAILED_PRECONDITION: {
    grpc: 9,
    http: 409,
    envelope: 500,
    retry: 'never',
    meaning: 'The thing is in a state in which this cannot be done.',
  },
  CIRCULAR_MOUNT: {
    grpc: 9,
    http: 508,
    envelope: 500,
    retry: 'never',
    means: ['general'],
    meaning: 'Gateways mount each other in a circle, or too many stand behind each other.',
  },
  UNSUPPORTED_OPERATION: {
    grpc: 12,
    http: 501,
    envelope: 500,
    retry: 'never',
    means: ['general'],
    meaning: 'This storage, or this version, cannot do this.',
  },
  STORAGE_READ_ONLY: { grpc: 9, http: 403, envelope: 500, retry: 'never', means: ['general'], meaning: 'The storage takes no writes.' },
  STALE_VERSION: {
    grpc: 10,
    http: 412,
    envelope: 500,
    retry: 'never',
    meaning: 'Somebody changed it in between: the etag or revision does not match.',
  },
  RANGE_NOT_SATISFIABLE: {
    grpc: 11,
    http: 416,
    envelope: 500,
    retry: 'never',
    meaning: 'The wanted bytes lie behind the end of the file.',
  },
  QUOTA_EXCEEDED: {
    grpc: 8,
    http: 507,
    envelope: 500,
    retry: 'never',
    means: ['general', 'verdict'],
    meaning: 'There is no room left, or a limit was reached.',
  },
  RATE_LIMITED: {
    grpc: 8,
    http: 429,
    envelope: 429,
    retry: 'after-backoff',
    means: ['general'],
    meaning: 'Too many tries in too short a time.',
  },
  OVERLOADED: {
    grpc: 8,
    http: 503,
    envelope: 503,
    retry: 'after-backoff',
    means: ['general'],
    meaning: 'The server has as much to do as it can carry; it says when to come again.',
  },
  STORAGE_LOGIN_FAILED: {
    grpc: 9,
    http: 502,
    envelope: 500,
    retry: 'never',
    means: ['absent', 'general'],
    meaning: 'The storage refused our credentials.',
  },
  STORAGE_UNAVAILABLE: {
    grpc: 14,
    http: 502,
    envelope: 500,
    retry: 'after-backoff',
    means: ['glitch', 'absent', 'general', 'trouble'],
    meaning: 'The storage, or a service we need, cannot be reached or is not ready.',
  },
  DEADLINE_EXCEEDED: {
    grpc: 4,
    http: 504,
    envelope: 500,
    retry: 'after-backoff',
    means: ['absent', 'general', 'trouble', 'verdict'],
    meaning: 'It took longer than it may.',
  },
  CANCELLED: { grpc: 1, http: 499, envelope: 500, retry: 'never', meaning: 'The caller went away.' },
  CONTENT_CORRUPT: {
    grpc: 15,
    http: 502,
    envelope: 500,
    retry: 'never',
    means: ['trouble'],
    meaning: 'The bytes are not what they should be.',
  },
  INTERNAL: {
    grpc: 13,
    http: 500,
    envelope: 500,
    retry: 'never',
    means: ['trouble'],
    meaning: 'Something nobody foresaw; the log has the cause under the request id.',
  },
} as const satisfies Record<string, ErrorRow>;

export type ErrorCode = keyof typeof ERROR_CODES;

export function isErrorCode(value: unknown): value is ErrorCode {
  return typeof value === 'string' && Object.hasOwn(ERROR_CODES, value);
}

export function codeMeans(code: ErrorCode, meaning: Meaning): boolean {
  const row: ErrorRow = ERROR_CODES[code];
  return row.means?.includes(meaning) ?? false;
}
