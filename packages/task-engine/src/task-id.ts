import { createHash, randomUUID } from 'node:crypto';

const LENGTH = 21;

/** A new task id: 21 characters of `A-Za-z0-9_-`, 126 random bits. */
export const newTaskId = (): string =>
  Buffer.from(randomDigits() + randomDigits(), 'hex')
    .toString('base64url')
    .slice(0, LENGTH);

/** 80 random bits: the first and the last digits of a UUID are random, and many UUIDs are drawn from the system at a time. */
function randomDigits(): string {
  const drawn = randomUUID();
  return drawn.slice(0, 8) + drawn.slice(-12);
}

/** The id of what a task makes, of the same form: whoever makes it again, under whatever fence, finds it made. */
export const derivedTaskId = (parent: string, part: string): string =>
  createHash('sha256').update(`${parent}\0${part}`).digest('base64url').slice(0, LENGTH);
