import { createHash, randomBytes } from 'node:crypto';

const LENGTH = 21;

/** A new task id: 21 characters of `A-Za-z0-9_-`, 126 random bits. */
export const newTaskId = (): string => randomBytes(16).toString('base64url').slice(0, LENGTH);

/** The id of what a task makes, of the same form: whoever makes it again, under whatever fence, finds it made. */
export const derivedTaskId = (parent: string, part: string): string =>
  createHash('sha256').update(`${parent}\0${part}`).digest('base64url').slice(0, LENGTH);
