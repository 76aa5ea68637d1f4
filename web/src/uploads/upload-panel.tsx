import { Check, ChevronDown, ChevronUp, CircleAlert, RotateCw, X } from 'lucide';
import { createMemo, createSignal, For, type JSX, Match, Show, Switch } from 'solid-js';
import { nameOf, parentOf } from '../files/tree-path.ts';
import { showSize, t } from '../i18n/i18n.ts';
import { Icon } from '../parts/icon.tsx';
import { IconButton } from '../parts/icon-button.tsx';
import type { Upload, UploadQueue } from './upload-queue.ts';
import './upload-panel.css';

/** Rows that are drawn; of a thousand files nobody looks at each. */
const SHOWN = 100;
const WEIGHT: Readonly<Record<Upload['state'], number>> = { exists: 0, failed: 1, sending: 2, waiting: 3, done: 4, cancelled: 5 };

/** Files on their way: beside the page's work, never in front of it. */
export function UploadPanel(props: { queue: UploadQueue }): JSX.Element {
  const [isOpen, setOpen] = createSignal(true);
  const uploads = () => props.queue.uploads;
  const sum = createMemo(() => {
    const live = uploads().filter((each) => each.state !== 'cancelled');
    const of = (state: Upload['state']) => live.filter((each) => each.state === state);
    const total = live.reduce((bytes, each) => bytes + each.file.size, 0);
    const sent = live.reduce((bytes, each) => bytes + (each.state === 'done' ? each.file.size : each.sentBytes), 0);
    const speed = of('sending').reduce((bytes, each) => bytes + each.speed, 0);
    const open = of('sending').length + of('waiting').length;
    return { total, sent, speed, open, done: of('done').length, all: live.length, stuck: of('exists').length + of('failed').length };
  });
  const shown = createMemo(() =>
    uploads()
      .toSorted((left, right) => WEIGHT[left.state] - WEIGHT[right.state] || left.id - right.id)
      .slice(0, SHOWN),
  );
  const title = () =>
    sum().open > 0
      ? t('uploading', { n: sum().open })
      : sum().stuck > 0
        ? t('uploadsStuck', { n: sum().stuck })
        : t('uploaded', { n: sum().done });
  return (
    <Show when={uploads().length > 0}>
      <section class="uploads" aria-label={t('uploads')}>
        <div class="uploads-head">
          <div class="uploads-title">
            <h2>
              <span role="status">{title()}</span>
            </h2>
            <Show when={sum().open > 0}>
              <p class="note">
                {t('ofSize', { part: showSize(sum().sent), all: showSize(sum().total) })}
                {sum().speed > 0
                  ? ` · ${t('perSecond', { size: showSize(sum().speed) })} · ${timeLeft((sum().total - sum().sent) / sum().speed)}`
                  : ''}
              </p>
            </Show>
          </div>
          <IconButton
            icon={isOpen() ? ChevronDown : ChevronUp}
            label={t(isOpen() ? 'fold' : 'unfold')}
            onPress={() => setOpen(!isOpen())}
          />
          <Show when={sum().open === 0}>
            <IconButton icon={X} label={t('close')} onPress={() => props.queue.clear()} />
          </Show>
        </div>
        <Show when={sum().open > 0}>
          <progress max={Math.max(1, sum().total)} value={sum().sent} aria-label={t('uploads')} />
        </Show>
        <Show when={isOpen()}>
          <ul>
            <For each={shown()}>{(upload) => <UploadRow upload={upload} queue={props.queue} />}</For>
          </ul>
        </Show>
      </section>
    </Show>
  );
}

function timeLeft(seconds: number): string {
  return seconds < 60 ? t('secondsLeft', { n: Math.ceil(seconds) }) : t('minutesLeft', { n: Math.round(seconds / 60) });
}

function UploadRow(props: { upload: Upload; queue: UploadQueue }): JSX.Element {
  const is = (...states: Upload['state'][]) => states.includes(props.upload.state);
  const percent = () => (props.upload.file.size === 0 ? 100 : Math.floor((props.upload.sentBytes / props.upload.file.size) * 100));
  return (
    <li class="upload">
      <div class="upload-words">
        <span class="upload-name" title={props.upload.path}>
          {nameOf(props.upload.path)}
        </span>
        <span class="note" classList={{ problem: is('failed', 'exists') }}>
          <Switch>
            <Match
              when={is('sending')}
            >{`${percent()} % · ${t('ofSize', { part: showSize(props.upload.sentBytes), all: showSize(props.upload.file.size) })}`}</Match>
            <Match when={is('waiting')}>{t('waiting')}</Match>
            <Match when={is('done')}>{t('inFolder', { name: nameOf(parentOf(props.upload.path)) || '/' })}</Match>
            <Match when={is('cancelled')}>{t('cancelled')}</Match>
            <Match when={is('exists')}>{t('alreadyThere')}</Match>
            <Match when={is('failed')}>{props.upload.error || t('errorOffline')}</Match>
          </Switch>
        </span>
        <Show when={is('exists')}>
          <Conflict upload={props.upload} queue={props.queue} />
        </Show>
        <Show when={is('sending')}>
          <progress max="100" value={percent()} aria-label={nameOf(props.upload.path)} />
        </Show>
      </div>
      <Switch>
        <Match when={is('done')}>
          <span class="upload-done">
            <Icon of={Check} />
          </span>
        </Match>
        <Match when={is('failed', 'cancelled')}>
          <IconButton
            icon={RotateCw}
            label={t('retry', { name: props.upload.file.name })}
            onPress={() => props.queue.retry(props.upload.id)}
          />
        </Match>
        <Match when={is('sending', 'waiting')}>
          <IconButton
            icon={X}
            label={t('cancelUpload', { name: props.upload.file.name })}
            onPress={() => props.queue.cancel(props.upload.id)}
          />
        </Match>
        <Match when={is('exists')}>
          <span class="problem">
            <Icon of={CircleAlert} />
          </span>
        </Match>
      </Switch>
    </li>
  );
}

function Conflict(props: { upload: Upload; queue: UploadQueue }): JSX.Element {
  const [isForAll, setForAll] = createSignal(false);
  const others = () => props.queue.uploads.filter((each) => each.state === 'exists').length > 1;
  return (
    <span class="upload-choices">
      <For each={['replace', 'keep', 'skip'] as const}>
        {(choice) => (
          <button type="button" class="button" onClick={() => props.queue.resolve(props.upload.id, choice, isForAll())}>
            {t(choice === 'replace' ? 'replace' : choice === 'keep' ? 'keepBoth' : 'skip')}
          </button>
        )}
      </For>
      <Show when={others()}>
        <label>
          <input type="checkbox" checked={isForAll()} onChange={(event) => setForAll(event.currentTarget.checked)} />
          {t('forAll')}
        </label>
      </Show>
    </span>
  );
}
