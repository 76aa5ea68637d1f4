import { AppError } from '@wharf/errors';
import { type MountPath, pathSegments } from '@wharf/paths';
import {
  type CallOptions,
  type Entry,
  type StorageDriver,
  supports,
  type WholeFile,
  type WholeWrite,
} from '../../driver-contract/storage-driver.ts';

/** Larger files are read and stored by themselves. */
export const SMALL_BYTES = 64 * 1024;
/** Files of one call of a storage: a few milliseconds of its thread. */
const MOST_AT_ONCE = 16;

/** All folders on a longer way may be to be made, and the other files of the call would wait for them. */
const MOST_SEGMENTS = 50;

/** Whether a file is stored by itself, however small it is. */
export function isDeep(file: MountPath): boolean {
  return pathSegments(file).length > MOST_SEGMENTS;
}

/** A storage that takes several small files in one call. */
export type SmallFilesTarget = StorageDriver & Required<Pick<StorageDriver, 'writeMany'>>;

type Patience = Pick<CallOptions, 'isPatient'>;

/** What waits to be read or stored. Of tasks apart from others: nobody else waits for the lease of a task. */
const openGroup = (patience: Patience) => ({
  patience,
  readings: new WeakMap<StorageDriver, (file: MountPath) => Promise<WholeFile | undefined>>(),
  writings: new WeakMap<StorageDriver, (write: WholeWrite) => Promise<Entry | AppError>>(),
});
const [ofTasks, ofOthers] = [openGroup({ isPatient: true }), openGroup({})];
const groupOf = ({ isPatient }: Patience) => (isPatient ? ofTasks : ofOthers);

/** Reads a small file, in one call with all that are wanted in the same moment. @returns undefined: it is to be read by itself */
export async function readTogether(driver: StorageDriver, file: MountPath, patience: Patience): Promise<WholeFile | undefined> {
  if (!supports(driver, 'readMany')) return undefined;
  const group = groupOf(patience);
  const read = kept(group.readings, driver, () =>
    gathered((files: readonly MountPath[]) => driver.readMany(files, { ...group.patience, maxBytes: SMALL_BYTES })),
  );
  return read(file);
}

/**
 * Stores a small file, in one call with all that are to be stored in the same moment, whoever wants it. One that fails or is cancelled ends no other one; a
 * storage that hangs does.
 *
 * @throws as `write` of the driver; what `mayPublishUntil` throws
 */
export async function writeTogether(driver: SmallFilesTarget, file: WholeWrite, patience: Patience): Promise<Entry> {
  const group = groupOf(patience);
  const write = kept(group.writings, driver, () => gathered((files: readonly WholeWrite[]) => driver.writeMany(files, group.patience)));
  let refusal: { readonly error: unknown } | undefined;
  const mayPublishUntil = () =>
    file.mayPublishUntil().catch((error: unknown) => {
      refusal = { error };
      throw error;
    });
  const stored = await write({ ...file, mayPublishUntil });
  if (AppError.is(stored)) throw refusal ? refusal.error : stored;
  return stored;
}

function kept<Key extends object, Value>(values: WeakMap<Key, Value>, key: Key, make: () => Value): Value {
  const value = values.get(key) ?? make();
  values.set(key, value);
  return value;
}

interface Waiting<Asked, Answer> {
  readonly asked: Asked;
  readonly resolve: (answer: Answer) => void;
  readonly reject: (error: unknown) => void;
}

/** What is asked in one turn of the event loop goes in one call, or in several where it is much. @param ask answers in their order */
function gathered<Asked, Answer>(ask: (asked: readonly Asked[]) => Promise<readonly Answer[]>): (asked: Asked) => Promise<Answer> {
  let waiting: Waiting<Asked, Answer>[] = [];
  const askTogether = async (together: readonly Waiting<Asked, Answer>[]): Promise<void> => {
    try {
      const answers = await ask(together.map(({ asked }) => asked));
      for (const [index, { resolve }] of together.entries()) resolve(answers[index] as Answer);
    } catch (error) {
      for (const { reject } of together) reject(error);
    }
  };
  const askAll = () => {
    const all = waiting;
    waiting = [];
    for (let start = 0; start < all.length; start += MOST_AT_ONCE) void askTogether(all.slice(start, start + MOST_AT_ONCE));
  };
  return (asked) =>
    new Promise((resolve, reject) => {
      waiting.push({ asked, resolve, reject });
      if (waiting.length === 1) setImmediate(askAll);
    });
}
