import type { ClientRequest } from 'node:http';
import { AppError } from '@wharf/errors';
import { pacePieces } from './pace-pieces.ts';

/** Answers before the answer (100 Continue, 103 Early Hints); a server that sends more of them has none. */
export const MAX_INTERIM_ANSWERS = 20;

/**
 * Holds what a server answers to a request of Node's own client to bounds: it sends no more answers before its answer than that, and pieces of its body are
 * read in turns with other work. To be called before anybody else listens for the answer.
 *
 * @param refuse told at once, as the answer itself may come in the same piece. The request is ended
 */
export function boundAnswer(request: ClientRequest, url: URL, refuse: (error: AppError) => void): void {
  let interim = 0;
  request.on('information', () => {
    interim += 1;
    if (interim <= MAX_INTERIM_ANSWERS) return;
    refuse(endlessInterim(url));
    request.destroy();
  });
  request.once('response', pacePieces);
}

/** Not to be tried again: it would go on as long as it is listened to. */
export function endlessInterim(url: URL): AppError {
  return new AppError('FAILED_PRECONDITION', `${url.host} sends more than ${MAX_INTERIM_ANSWERS} interim answers before its answer`);
}
