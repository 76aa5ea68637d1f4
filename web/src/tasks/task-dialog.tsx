import { CloudDownload, Pause, Play, RotateCw, Trash2, X } from 'lucide';
import { createMemo, createSignal, For, type JSX, Match, Show, Switch } from 'solid-js';
import { call } from '../api/call.ts';
import type { ErrorName } from '../api/operations.ts';
import { explain, explainNamed } from '../files/explain.ts';
import { showSize, showTime, showTimeLeft, t } from '../i18n/i18n.ts';
import type { Messages } from '../i18n/messages-en.ts';
import { Icon } from '../parts/icon.tsx';
import { IconButton } from '../parts/icon-button.tsx';
import { Modal } from '../parts/modal.tsx';
import { notify } from '../parts/notices.tsx';
import { openFolder } from '../router.ts';
import { may } from '../session.ts';
import { isFailed, isOver, isRunning, type Task, type TaskFeed } from './task-feed.ts';
import { wordsOf } from './task-words.ts';
import './task-dialog.css';
import { showName } from '../i18n/show-name.ts';

/** Rows that are drawn of each group. */
const SHOWN = 200;
const VERBS: Readonly<Record<NonNullable<ReturnType<typeof wordsOf>['verb']>, keyof Messages>> = {
  copy: 'taskCopy',
  move: 'taskMove',
  merge: 'taskCopy',
  upload: 'taskUpload',
  download: 'taskDownload',
  transfer: 'taskTransfer',
  remove: 'taskRemove',
};

type Action = 'cancel' | 'delete' | 'retry' | 'pause' | 'resume';

/** Does something to tasks; what fails is said. */
async function act(action: Action, tasks: readonly Task[]): Promise<void> {
  try {
    const [first, ...more] = tasks;
    if (first && more.length === 0) await call(`/api/task/${first.list as 'copy'}/${action}`, { tid: first.id });
    else
      for (const [list, some] of Map.groupBy(tasks, (task) => task.list))
        await call(
          `/api/task/${list as 'copy'}/${action as 'retry'}_some`,
          some.map(({ id }) => id),
        );
  } catch (error) {
    notify(explain(error), { isBad: true });
  }
}

const GROUPS = [
  { title: 'tasksRunning', fits: (task: Task) => !isOver(task) },
  { title: 'tasksFailed', fits: isFailed },
  { title: 'tasksDone', fits: (task: Task) => isOver(task) && !isFailed(task) },
] as const;

/** Copies, moves, uploads and downloads that the server works on, as they are. */
export default function TaskDialog(props: { feed: TaskFeed; onDownload: () => void; onClose: () => void }): JSX.Element {
  const running = () => props.feed.tasks().filter((task) => !isOver(task)).length;
  return (
    <Modal title={t('tasks')} onClose={props.onClose} isWide>
      <div class="tasks">
        <p class="note" role="status">
          {props.feed.isLive() ? running() > 0 && t('tasksSummary', { n: running() }) : t('tasksAway')}
        </p>
        <For each={GROUPS}>
          {({ title, fits }) => <TaskGroup title={title} tasks={props.feed.tasks().filter(fits)} onClose={props.onClose} />}
        </For>
        <Show when={props.feed.isLive() && props.feed.tasks().length === 0}>
          <p class="tasks-none">{t('tasksNone')}</p>
        </Show>
        <div class="dialog-end">
          <Show when={may('offlineDownload')}>
            <button type="button" class="button" onClick={() => props.onDownload()}>
              <Icon of={CloudDownload} />
              {t('offlineDownload')}
            </button>
          </Show>
          <button type="button" class="button is-main" onClick={() => props.onClose()}>
            {t('close')}
          </button>
        </div>
      </div>
    </Modal>
  );
}

function TaskGroup(props: { title: (typeof GROUPS)[number]['title']; tasks: readonly Task[]; onClose: () => void }): JSX.Element {
  const [isBusy, setBusy] = createSignal(false);
  const byId = createMemo(() => new Map(props.tasks.map((task) => [task.id, task])));
  const forAll = async (action: Action) => {
    setBusy(true);
    await act(action, props.tasks);
    setBusy(false);
  };
  return (
    <Show when={props.tasks.length > 0}>
      <section aria-label={t(props.title)}>
        <div class="tasks-head">
          <h3>{`${t(props.title)} · ${props.tasks.length}`}</h3>
          <Show when={props.title === 'tasksFailed'}>
            <button type="button" class="button is-quiet" disabled={isBusy()} onClick={() => void forAll('retry')}>
              {t('retryAll')}
            </button>
          </Show>
          <Show when={props.title !== 'tasksRunning'}>
            <button type="button" class="button is-quiet" disabled={isBusy()} onClick={() => void forAll('delete')}>
              {t('clearAll')}
            </button>
          </Show>
        </div>
        <ul>
          {/* By their ids: a row stays, and so does the focus in it, while its task changes. */}
          <For each={[...byId().keys()].slice(0, SHOWN)}>
            {(id) => <Show when={byId().get(id)}>{(task) => <TaskRow task={task()} onClose={props.onClose} />}</Show>}
          </For>
        </ul>
      </section>
    </Show>
  );
}

function TaskRow(props: { task: Task; onClose: () => void }): JSX.Element {
  const words = createMemo(() => wordsOf(props.task.name));
  const title = () => {
    const { verb, name } = words();
    return verb === undefined ? showName(name) : t(VERBS[verb], { name });
  };
  return (
    <li class="task">
      <div class="task-words">
        <span class="task-name" title={showName(props.task.name)}>
          {title()}
        </span>
        <span class="note">
          <Show when={words().to !== ''}>
            <button
              type="button"
              class="task-folder"
              onClick={() => {
                props.onClose();
                openFolder(words().to);
              }}
            >
              {showName(words().to)}
            </button>
            {' · '}
          </Show>
          {stateOf(props.task)}
        </span>
        <Show when={isFailed(props.task)}>
          <span class="problem">{explainNamed(props.task.error_code as ErrorName, props.task.error)}</span>
          <Show when={props.task.error_code === 'INTERNAL' || props.task.error_code === 'STORAGE_UNAVAILABLE'}>
            <span class="note">{props.task.error}</span>
          </Show>
        </Show>
        <Show when={isRunning(props.task) || props.task.paused}>
          <progress max="100" value={props.task.progress} aria-label={title()} classList={{ 'is-still': props.task.paused }} />
        </Show>
      </div>
      <TaskButtons task={props.task} name={words().name} />
    </li>
  );
}

function TaskButtons(props: { task: Task; name: string }): JSX.Element {
  const name = () => ({ name: props.name });
  return (
    <Switch>
      <Match when={!isOver(props.task)}>
        <Show
          when={props.task.paused}
          fallback={<IconButton icon={Pause} label={t('pauseUpload', name())} onPress={() => void act('pause', [props.task])} />}
        >
          <IconButton icon={Play} label={t('resumeUpload', name())} onPress={() => void act('resume', [props.task])} />
        </Show>
        <IconButton icon={X} label={t('cancelUpload', name())} onPress={() => void act('cancel', [props.task])} />
      </Match>
      <Match when={isOver(props.task)}>
        <Show when={props.task.state !== 2}>
          <IconButton icon={RotateCw} label={t('retryTask', name())} onPress={() => void act('retry', [props.task])} />
        </Show>
        <IconButton icon={Trash2} label={t('forgetTask', name())} onPress={() => void act('delete', [props.task])} />
      </Match>
    </Switch>
  );
}

/** What it is doing, how fast, and how long yet. */
function stateOf(task: Task): string {
  const { state, paused, progress, speed, eta, total_bytes: total } = task;
  if (state === 2) return [t('taskDone'), showTime(String(task.end_time), 'full')].filter(Boolean).join(' · ');
  if (state === 4) return t('cancelled');
  if (isFailed(task)) return [t('taskFailed'), showTime(String(task.end_time), 'full')].filter(Boolean).join(' · ');
  if (state === 3) return t('cancelling');
  if (paused) return `${t('paused')} · ${Math.floor(progress)} %`;
  if (state === 8) return t('waitingRetry');
  if (state === 0) return t('waiting');
  const size = total > 0 ? t('ofSize', { part: showSize((total * progress) / 100), all: showSize(total) }) : '';
  const pace = speed > 0 ? t('perSecond', { size: showSize(speed) }) : '';
  return [`${Math.floor(progress)} %`, size, pace, typeof eta === 'number' && eta > 0 ? showTimeLeft(eta) : ''].filter(Boolean).join(' · ');
}
