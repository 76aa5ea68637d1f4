import { ArrowDownUp } from 'lucide';
import { type JSX, Show } from 'solid-js';
import type { Desk } from '../files/desk.ts';
import { t } from '../i18n/i18n.ts';
import { Icon } from '../parts/icon.tsx';
import { isFailed, isOver } from './task-feed.ts';
import './tasks-button.css';

/** Leads to the tasks, and says how many run and whether one failed. */
export function TasksButton(props: { desk: Desk; onPress: () => void }): JSX.Element {
  const running = () => props.desk.tasks.tasks().filter((task) => !isOver(task)).length;
  const failed = () => props.desk.tasks.tasks().filter(isFailed).length;
  return (
    <button type="button" class="viewer-button" onClick={() => props.onPress()}>
      <Icon of={ArrowDownUp} size={22} />
      <span>{t('tasks')}</span>
      <Show when={running() > 0}>
        <span class="tasks-badge">{running()}</span>
        <span class="unseen">{t('tasksRunning')}</span>
      </Show>
      <Show when={running() === 0 && failed() > 0}>
        <span class="tasks-badge is-bad">{failed()}</span>
        <span class="unseen">{t('tasksFailed')}</span>
      </Show>
    </button>
  );
}
