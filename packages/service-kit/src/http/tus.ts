/** Where uploads by tus 1.0 begin; each has its address below. They answer real statuses, with the errors' own. */
export const TUS_PATH = '/api/fs/tus';

/** Whether a request is for uploads by tus. */
export function isTusPath(path: string): boolean {
  return path === TUS_PATH || path.startsWith(`${TUS_PATH}/`);
}

/**
 * The status of a failure by tus. tus-js-client begins anew, with the first byte, where its look at an upload (HEAD) is answered by a failure
 * other than 423: what may be over in a moment is 423 to it.
 */
export function tusStatus(method: string | undefined, status: number): number {
  return method === 'HEAD' && PASSING.has(status) ? 423 : status;
}

const PASSING: ReadonlySet<number> = new Set([409, 429, 500, 502, 503, 504, 507]);
