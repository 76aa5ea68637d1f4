import { COMMAND_AT, isCommand, type StoreWay, startStoreWay } from '@wharf/harness';
import { deserialize } from 'bson';

/** What passed to a store and back. */
export interface Passed {
  commands: number;
  /** In the answers of reads, and of writes that answer one. */
  documents: number;
}

/** The way of all replicas of one service to the store, which counts what they ask. */
export interface StoreMeter extends StoreWay {
  /** Since the last time, by command and collection; what drivers ask by themselves is left out. */
  take(): Map<string, Passed>;
}

const BSON_STRING = 2;
const OF_DRIVERS = new Set(['hello', 'ismaster', 'isMaster', 'ping', 'endSessions', 'killCursors', 'saslStart', 'saslContinue']);

/** @param store its address; databases and options of it are kept */
export async function startStoreMeter(store: string): Promise<StoreMeter> {
  let counts = new Map<string, Passed>();
  const count = (key: string, documents: number | undefined) => {
    const passed = counts.get(key) ?? { commands: 0, documents: 0 };
    counts.set(key, passed);
    if (documents === undefined) passed.commands += 1;
    else passed.documents += documents;
  };
  const way = await startStoreWay(store, () => {
    /** Who was asked what, by the number of the message. */
    const asked = new Map<number, string>();
    return {
      asked(message) {
        const key = keyOf(message);
        if (key === undefined) return;
        asked.set(message.readInt32LE(4), key);
        count(key, undefined);
      },
      answered(message) {
        const key = asked.get(message.readInt32LE(8));
        if (key === undefined) return;
        asked.delete(message.readInt32LE(8));
        count(key, documentsIn(message));
      },
    };
  });
  return {
    ...way,
    take() {
      const taken = counts;
      counts = new Map();
      return taken;
    },
  };
}

/** Of a request: `<command> <collection>`, by the first field of its document. */
function keyOf(message: Buffer): string | undefined {
  if (!isCommand(message)) return undefined;
  const nameAt = COMMAND_AT + 5;
  const nameEnd = message.indexOf(0, nameAt);
  const name = message.toString('utf8', nameAt, nameEnd);
  if (OF_DRIVERS.has(name)) return undefined;
  const isNamed = message[nameAt - 1] === BSON_STRING;
  const textAt = nameEnd + 5;
  return isNamed ? `${name} ${message.toString('utf8', textAt, message.indexOf(0, textAt))}` : name;
}

function documentsIn(message: Buffer): number {
  const answer = deserialize(message.subarray(COMMAND_AT));
  const batch = answer['cursor']?.firstBatch ?? answer['cursor']?.nextBatch;
  if (Array.isArray(batch)) return batch.length;
  return answer['value'] ? 1 : 0;
}
