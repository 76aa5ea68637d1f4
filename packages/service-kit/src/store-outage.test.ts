import { AppError } from '@wharf/errors';
import { mongo } from 'mongoose';
import { expect, it } from 'vitest';
import { foreseen, STORE_FULL } from './store-outage.ts';

const socketError = (code: string, place = 'node_modules/mongodb/lib/cmap/connection.js') =>
  Object.assign(new Error(`write ${code}`), { code, stack: `Error: write ${code}\n    at ${place}` });

/** As the driver makes it of what went wrong with a bulk. */
function bulkError(reason: ConstructorParameters<typeof mongo.MongoBulkWriteError>[0]) {
  return new mongo.MongoBulkWriteError(reason, {} as ConstructorParameters<typeof mongo.MongoBulkWriteError>[1]);
}

it.each([
  new mongo.MongoNetworkError('connection 1 closed'),
  new mongo.MongoNetworkTimeoutError('connection 1 timed out'),
  new mongo.MongoTopologyClosedError(),
  new mongo.MongoNotConnectedError('not connected'),
  socketError('EPIPE'),
  bulkError(new mongo.MongoNetworkError('connection 1 closed')),
])('%s is an outage of the store', (error) => {
  expect(foreseen(error)).toMatchObject({ code: 'STORAGE_UNAVAILABLE', cause: error });
});

it.each([
  new mongo.MongoServerError({ code: 11_000, message: 'E11000' }),
  bulkError({ code: 11_000, message: 'E11000' }),
  new TypeError('undefined is no function'),
  socketError('EACCES'),
  socketError('EPIPE', 'elsewhere.js'),
])('%s is not', (error) => {
  expect(foreseen(error)).toBe(error);
});

it('a store without room says so', () => {
  const error = new mongo.MongoServerError({ code: 14_031, message: 'the disk of the store is full' });
  expect(foreseen(error)).toMatchObject({ code: 'STORAGE_UNAVAILABLE', message: STORE_FULL, cause: error });
});

it('what was said on purpose stays', () => {
  const error = new AppError('ENTRY_NOT_FOUND', 'no such entry');
  expect(foreseen(error)).toBe(error);
});
