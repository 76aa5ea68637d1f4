import { CommandError } from '../command/command-error.ts';

/** https://www.mongodb.com/docs/manual/reference/limits/#naming-restrictions */
const MAX_DATABASE_BYTES = 63;
const MAX_NAMESPACE_BYTES = 255;
const FORBIDDEN_IN_DATABASE = /[/\\. "$*<>:|?\0]/;

/** @throws CommandError InvalidNamespace */
export function checkDatabaseName(name: string): void {
  if (name === '' || FORBIDDEN_IN_DATABASE.test(name) || Buffer.byteLength(name) > MAX_DATABASE_BYTES) {
    throw new CommandError('InvalidNamespace', `Invalid database name: '${name.slice(0, MAX_DATABASE_BYTES)}'`);
  }
}

/** @throws CommandError InvalidNamespace */
export function checkCollectionName(database: string, name: string): void {
  const isWrong = name === '' || name.startsWith('.') || name.endsWith('.') || /[$\0]/.test(name) || /^system\./.test(name);
  if (isWrong || Buffer.byteLength(`${database}.${name}`) > MAX_NAMESPACE_BYTES) {
    throw new CommandError('InvalidNamespace', `Invalid collection name: '${name.slice(0, MAX_NAMESPACE_BYTES)}'`);
  }
}
