import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { AppError } from '@wharf/errors';
import { ROLE } from '@wharf/rights';
import { type Caller, foreseen, forPeople, nameError, onceClosed } from '@wharf/service-kit';
import type { TaskChange, TaskFeed } from '@wharf/task-engine';
import { failure, requireAccess } from './api-handler.ts';
import type { GatewayParts } from './gateway-parts.ts';
import { beforeRefusal, STALL_MS, sendJson } from './send-answer.ts';

export const TASK_EVENTS_PATH = '/api/task/events';
/** Resolves when the answer is over. */
export type TaskEvents = (request: IncomingMessage, response: ServerResponse) => Promise<void>;

/** How often the stream checks whether the caller may still watch, in milliseconds. */
const CHECK_MS = 1_000;
/** How often a stream without news sends a comment, so that proxies keep it open, in milliseconds. */
const HEARTBEAT_MS = 15_000;
/** Tasks whose change waits for a slow client; beyond it that client gets a new snapshot instead. */
const MAX_PENDING = 2_000;
const MAX_STREAMS_OF_A_USER = 20;
/** Changes are written together, in pieces of so many characters at least. */
const PIECE_LENGTH = 16 * 1024;

/**
 * `GET /api/task/events`: server-sent events. First `snapshot` with an array of tasks, then `task` with one, or `removed` with `{"id"}`,
 * for the tasks that the caller may see. Events have no ids: whatever `Last-Event-ID` a client sends, it gets a snapshot. The stream ends when
 * the caller's login does, when the role changes, and when the gateway stops.
 */
export function createTaskEvents(parts: GatewayParts, feed: TaskFeed, isStopping: () => boolean): TaskEvents {
  const streams = new Map<number, number>();

  const open = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const scope = parts.scopes.of(request);
    scope.route = TASK_EVENTS_PATH;
    parts.cors.allow(request, response);
    try {
      if (request.method !== 'GET') throw new AppError('UNSUPPORTED_OPERATION', 'this route does not answer this method');
      const caller = await parts.callers.establish(request.headers.authorization);
      scope.userId = caller.identity.id;
      requireAccess('user', caller);
      if ((streams.get(caller.identity.id) ?? 0) >= MAX_STREAMS_OF_A_USER)
        throw new AppError('RATE_LIMITED', `no more than ${MAX_STREAMS_OF_A_USER} streams of events at once`);
      count(streams, caller.identity.id, 1);
      onceClosed(response, () => count(streams, caller.identity.id, -1));
      scope.code = 200;
      await send(request, response, caller);
    } catch (thrown) {
      if (response.headersSent) {
        parts.kit.logger.warn({ err: thrown, requestId: scope.id }, 'a stream of events was broken off');
        response.end();
        return;
      }
      const envelope = await failure(parts, scope.id, thrown, { UNSUPPORTED_OPERATION: 405 });
      scope.code = envelope.code;
      const error = AppError.from(forPeople(foreseen(thrown)));
      scope.error = error.code;
      nameError(response, error);
      if (await beforeRefusal(request, response)) sendJson(response, JSON.stringify(envelope));
    }
  };

  /** Resolves when the stream has ended. */
  const send = async (request: IncomingMessage, response: ServerResponse, caller: Caller): Promise<void> => {
    const { id, role } = caller.identity;
    const visible = { creatorId: role === ROLE.admin ? undefined : id };
    const pending = new Map<string, TaskChange>();
    const over = new AbortController();
    let needsSnapshot = true;
    let wake = () => {};
    const end = () => {
      over.abort();
      wake();
    };
    const unwatch = feed.watch(visible, (change) => {
      if (pending.size >= MAX_PENDING) {
        needsSnapshot = true;
        pending.clear();
      }
      if (!needsSnapshot) pending.set(change.kind === 'task' ? change.task.id : change.id, change);
      wake();
    });
    const check = setInterval(() => {
      if (isStopping()) return end();
      parts.callers.establish(request.headers.authorization).then(
        ({ identity }) => {
          if (identity.id !== id || identity.role !== role) end();
        },
        // Without the store, or between services that do not know each other, this cannot be checked. Nothing is at risk: the tasks come from the same store.
        (error) => AppError.is(forPeople(error), 'UNAUTHENTICATED') && end(),
      );
    }, CHECK_MS);
    onceClosed(response, end);

    try {
      response.writeHead(200, {
        'Content-Type': 'text/event-stream; charset=utf-8',
        'Cache-Control': 'no-store',
        'X-Content-Type-Options': 'nosniff',
        // nginx would collect the events.
        'X-Accel-Buffering': 'no',
      });
      while (!over.signal.aborted) {
        if (needsSnapshot) {
          needsSnapshot = false;
          await writeSnapshot(response, feed.snapshot(visible), over.signal);
        } else if (pending.size > 0) {
          const { text, told } = nextEvents(pending);
          for (const id of told) pending.delete(id);
          await write(response, text, over.signal);
        } else {
          const isQuiet = await new Promise<boolean>((resolve) => {
            const timer = setTimeout(() => resolve(true), HEARTBEAT_MS);
            wake = () => {
              clearTimeout(timer);
              resolve(false);
            };
          });
          if (isQuiet) await write(response, ': still here\n\n', over.signal);
        }
      }
    } finally {
      clearInterval(check);
      unwatch();
    }
    response.end();
  };

  return open;
}

const event = (name: string, data: unknown) => `event: ${name}\ndata: ${JSON.stringify(data)}\n\n`;

/** An event of many pieces, each read when the client has taken the one before. */
async function writeSnapshot(response: ServerResponse, pieces: AsyncIterable<string>, signal: AbortSignal): Promise<void> {
  await write(response, 'event: snapshot\ndata: ', signal);
  for await (const piece of pieces) {
    if (signal.aborted) return;
    await write(response, piece, signal);
  }
  await write(response, '\n\n', signal);
}

/** The first of the changes that wait, as many as make one piece. */
function nextEvents(pending: ReadonlyMap<string, TaskChange>): { text: string; told: string[] } {
  const told: string[] = [];
  let text = '';
  for (const [id, change] of pending) {
    text += change.kind === 'task' ? event('task', change.task) : event('removed', { id: change.id });
    told.push(id);
    if (text.length >= PIECE_LENGTH) break;
  }
  return { text, told };
}

/** Waits until the client has taken most of it; one that takes nothing is cut off. */
async function write(response: ServerResponse, text: string, signal: AbortSignal): Promise<void> {
  if (signal.aborted || response.write(text)) return;
  const stall = setTimeout(() => response.destroy(), STALL_MS);
  try {
    await once(response, 'drain', { signal });
  } catch (error) {
    if (!signal.aborted) throw error;
  } finally {
    clearTimeout(stall);
  }
}

function count(counts: Map<number, number>, key: number, by: number): void {
  const value = (counts.get(key) ?? 0) + by;
  if (value > 0) counts.set(key, value);
  else counts.delete(key);
}
