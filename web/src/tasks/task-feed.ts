import { type Accessor, createSignal, onCleanup } from 'solid-js';
import { type Answer, token } from '../api/call.ts';
import { isGuest } from '../session.ts';
import { readEvents } from './read-events.ts';

export type Task = Answer<'/api/task/copy/info'>;

/** Whether it has ended; whether it ended because it could not be done; whether somebody works on it. States: docs/api-family.md#tasks. */
export const isOver = ({ state }: Task) => state === 2 || state === 4 || state === 7;
export const isFailed = ({ state }: Task) => state === 7;
export const isRunning = ({ state, paused }: Task) => state === 1 && !paused;

/** Tasks of the viewer as they are; of the administrator, all. */
export interface TaskFeed {
  /** The newest first. */
  readonly tasks: Accessor<readonly Task[]>;
  /** Whether what is shown is what is: the stream stands. */
  readonly isLive: Accessor<boolean>;
}

/** Pauses before the stream is opened again, in milliseconds: the first, and the longest. */
const FIRST_PAUSE_MS = 1_000;
const LONGEST_PAUSE_MS = 30_000;
/** The server says something every quarter of a minute: a stream that is silent for so long has lost it, in milliseconds. */
const SILENCE_MS = 45_000;
/** Thousands of tasks may change in a second, and to show them takes all of them in order: it is done so often, in milliseconds. */
const LOOK_MS = 100;

/**
 * Follows the tasks for as long as the page is seen: a tab that is not would hold one of the browser's few connections.
 *
 * @param onEnd told of each task that ends meanwhile
 */
export function createTaskFeed(onEnd: (task: Task) => void): TaskFeed {
  const byId = new Map<string, Task>();
  const [tasks, setTasks] = createSignal<readonly Task[]>([]);
  const [isLive, setLive] = createSignal(false);
  let reading: AbortController | undefined;

  let isDue = false;
  const show = () => setTasks([...byId.values()].toSorted((left, right) => (startOf(left) < startOf(right) ? 1 : -1)));
  const showSoon = () => {
    if (isDue) return;
    isDue = true;
    setTimeout(() => {
      isDue = false;
      show();
    }, LOOK_MS);
  };
  const take = (name: string, data: unknown) => {
    if (name === 'snapshot') {
      byId.clear();
      for (const task of data as Task[]) byId.set(task.id, task);
      show();
    } else if (name === 'task') {
      const task = data as Task;
      const before = byId.get(task.id);
      byId.set(task.id, task);
      if (before && !isOver(before) && isOver(task)) onEnd(task);
    }
    if (name === 'removed') byId.delete((data as { id: string }).id);
    showSoon();
    setLive(true);
  };
  const follow = async (signal: AbortSignal) => {
    for (let pauseMs = FIRST_PAUSE_MS; !signal.aborted; pauseMs = Math.min(LONGEST_PAUSE_MS, pauseMs * 2)) {
      const silence = createSilence();
      try {
        const ending = AbortSignal.any([signal, silence.signal]);
        const answer = await fetch('/api/task/events', { headers: { Authorization: token() }, signal: ending });
        const isStream = answer.headers.get('Content-Type')?.startsWith('text/event-stream') === true;
        if (answer.body && isStream)
          for await (const { name, data } of readEvents(silence.heed(answer.body))) {
            pauseMs = FIRST_PAUSE_MS;
            take(name, JSON.parse(data));
          }
        else await answer.body?.cancel();
      } catch {
        // The network, or the end of it all: the loop tells which.
      } finally {
        silence.end();
      }
      setLive(false);
      await new Promise((resolve) => setTimeout(resolve, pauseMs));
    }
  };
  const turn = () => {
    reading?.abort();
    reading = undefined;
    if (document.hidden || isGuest()) return;
    reading = new AbortController();
    void follow(reading.signal);
  };
  turn();
  document.addEventListener('visibilitychange', turn);
  onCleanup(() => {
    document.removeEventListener('visibilitychange', turn);
    reading?.abort();
  });
  return { tasks, isLive };
}

/** Aborts its signal where nothing comes for too long: networks go, and servers stop, without a word. */
function createSilence() {
  const silent = new AbortController();
  let timer: ReturnType<typeof setTimeout>;
  const begin = () => {
    timer = setTimeout(() => silent.abort(), SILENCE_MS);
  };
  begin();
  return {
    signal: silent.signal,
    async *heed(body: AsyncIterable<Uint8Array>) {
      for await (const chunk of body) {
        clearTimeout(timer);
        begin();
        yield chunk;
      }
    },
    end: () => clearTimeout(timer),
  };
}

/** Those that wait have not begun: they stand first. */
const startOf = (task: Task) => (typeof task.start_time === 'string' ? task.start_time : '9');
