import { randomBytes } from 'node:crypto';

const LENGTH = 21;

/** A new task id: 21 characters of `A-Za-z0-9_-`, 126 random bits. */
export const newTaskId = (): string => randomBytes(16).toString('base64url').slice(0, LENGTH);
