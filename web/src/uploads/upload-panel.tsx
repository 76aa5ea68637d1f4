import { Check, ChevronDown, ChevronUp, CircleAlert, FileUp, Pause, Play, RotateCw, X } from 'lucide';
import { createMemo, createSignal, For, type JSX, Match, Show, Switch } from 'solid-js';
import { explain } from '../files/explain.ts';
import { nameOf, parentOf } from '../files/tree-path.ts';
import { showSize, showTimeLeft, t } from '../i18n/i18n.ts';
import { focusFiles } from '../parts/focus-files.ts';
import { Icon } from '../parts/icon.tsx';
import { IconButton } from '../parts/icon-button.tsx';
import { notify } from '../parts/notices.tsx';
import { askForFiles } from './choose-files.ts';
import type { PageUploads } from './page-uploads.ts';
import { OtherFile } from './send-parts.ts';
import type { Upload } from './upload-queue.ts';
import './upload-panel.css';
import { showName } from '../i18n/show-name.ts';

type State = Upload['state'];

/** Rows that are drawn; of a thousand files nobody looks at each. */
const SHOWN = 100;
/** What needs the viewer comes first. */
const ORDER: readonly State[] = ['exists', 'lost', 'failed', 'sending', 'paused', 'waiting', 'done', 'cancelled'];

/** Files on their way: beside the page's work, never in front of it. */
export function UploadPanel(props: { queue: PageUploads }): JSX.Element {
  const [isOpen, setOpen] = createSignal(true);
  const sum = createMemo(() => sumOf(props.queue.look()));
  const shown = createMemo(() => {
    const byState = Map.groupBy(props.queue.look(), ({ state }) => state);
    return ORDER.flatMap((state) => byState.get(state) ?? []).slice(0, SHOWN);
  });
  const isMoving = () => sum().of.sending + sum().of.waiting > 0;
  const title = () => {
    const { of } = sum();
    if (isMoving()) return t('uploading', { n: of.sending + of.waiting });
    const stuck = of.exists + of.failed + of.lost;
    if (stuck > 0) return t('uploadsStuck', { n: stuck });
    return of.paused > 0 ? t('uploadsPaused', { n: of.paused }) : t('uploaded', { n: of.done });
  };
  const resumeAll = () => {
    for (const { id, state } of props.queue.uploads()) if (state === 'paused') props.queue.resume(id);
  };
  return (
    <Show when={sum().all > 0}>
      <section class="uploads" aria-label={t('uploads')}>
        <div class="uploads-head">
          <div class="uploads-title">
            <h2>
              <span role="status">{title()}</span>
            </h2>
            <Show when={isMoving()}>
              <p class="note">{paceOf(sum().sentBytes, sum().totalBytes, sum().speed)}</p>
            </Show>
          </div>
          <Show when={isMoving()}>
            <IconButton icon={Pause} label={t('pauseAll')} onPress={() => props.queue.pauseAll()} />
          </Show>
          <Show when={!isMoving() && sum().of.paused > 0}>
            <IconButton icon={Play} label={t('resumeAll')} onPress={resumeAll} />
          </Show>
          <IconButton
            icon={isOpen() ? ChevronDown : ChevronUp}
            label={t(isOpen() ? 'fold' : 'unfold')}
            onPress={() => setOpen(!isOpen())}
          />
          <Show when={!isMoving() && sum().of.done + sum().of.failed + sum().of.cancelled > 0}>
            <IconButton
              icon={X}
              label={t('close')}
              onPress={() => {
                props.queue.clear();
                focusFiles();
              }}
            />
          </Show>
        </div>
        <Show when={isMoving()}>
          <progress max={Math.max(1, sum().totalBytes)} value={sum().sentBytes} aria-label={t('uploads')} />
        </Show>
        <Show when={isOpen()}>
          <Show when={sum().of.lost > 0}>
            <div class="uploads-lost">
              <p class="note">{t('lostUploads', { n: sum().of.lost })}</p>
              <button type="button" class="button" onClick={() => chooseAgain(props.queue)}>
                <Icon of={FileUp} />
                {t('chooseAgain', { n: sum().of.lost })}
              </button>
            </div>
          </Show>
          <ul>
            <For each={shown()}>{(upload) => <UploadRow upload={upload} queue={props.queue} />}</For>
          </ul>
        </Show>
      </section>
    </Show>
  );
}

function sumOf(uploads: readonly Upload[]) {
  const of: Record<State, number> = { waiting: 0, sending: 0, paused: 0, lost: 0, done: 0, failed: 0, exists: 0, cancelled: 0 };
  const sum = { of, all: uploads.length, totalBytes: 0, sentBytes: 0, speed: 0 };
  for (const { state, sizeBytes, sentBytes, speed } of uploads) {
    of[state] += 1;
    if (state === 'cancelled' || state === 'lost') continue;
    sum.totalBytes += sizeBytes;
    sum.sentBytes += sentBytes;
    sum.speed += speed;
  }
  return sum;
}

/** `4 MB of 10 MB · 2 MB/s · 3 s left`. */
function paceOf(sentBytes: number, totalBytes: number, speed: number): string {
  const part = t('ofSize', { part: showSize(sentBytes), all: showSize(totalBytes) });
  if (speed <= 0) return part;
  return [part, t('perSecond', { size: showSize(speed) }), showTimeLeft((totalBytes - sentBytes) / speed)].join(' · ');
}

/** The browser forgets files with the page, so the viewer chooses them again. */
function chooseAgain(queue: PageUploads): void {
  askForFiles({}, (files) => {
    const strangers = queue.giveFiles([...files]);
    if (strangers > 0) notify(t('noneFits', { n: strangers }), { isBad: true });
  });
}

function UploadRow(props: { upload: Upload; queue: PageUploads }): JSX.Element {
  const now = createMemo(() => {
    props.queue.look();
    return { ...props.upload };
  });
  const is = (...states: State[]) => states.includes(now().state);
  const name = () => showName(nameOf(now().path));
  const percent = () => (now().sizeBytes === 0 ? 100 : Math.floor((now().sentBytes / now().sizeBytes) * 100));
  const sending = () => {
    if (now().doing === 'trying') return t('tryingAgain', { why: explain(now().error) });
    if (now().doing === 'ending') return t('verifying');
    return `${percent()} % · ${paceOf(now().sentBytes, now().sizeBytes, now().speed)}`;
  };
  return (
    <li class="upload">
      <div class="upload-words">
        <span class="upload-name" title={showName(now().path)}>
          {name()}
        </span>
        <span class="note" classList={{ problem: is('failed', 'exists') || (is('lost') && now().error !== undefined) }}>
          <Switch>
            <Match when={is('sending')}>{sending()}</Match>
            <Match when={is('waiting')}>{t('waiting')}</Match>
            <Match when={is('paused')}>{`${t('paused')} · ${paceOf(now().sentBytes, now().sizeBytes, 0)}`}</Match>
            <Match when={is('lost')}>
              {now().error instanceof OtherFile ? t('otherFile') : `${percent()} % · ${paceOf(now().sentBytes, now().sizeBytes, 0)}`}
            </Match>
            <Match when={is('done')}>{t('inFolder', { name: nameOf(parentOf(now().path)) || '/' })}</Match>
            <Match when={is('cancelled')}>{t('cancelled')}</Match>
            <Match when={is('exists')}>{t('alreadyThere')}</Match>
            <Match when={is('failed')}>{explain(now().error)}</Match>
          </Switch>
        </span>
        <Show when={is('exists')}>
          <Conflict upload={props.upload} queue={props.queue} />
        </Show>
        <Show when={is('sending', 'paused', 'lost')}>
          <progress max="100" value={percent()} aria-label={name()} classList={{ 'is-still': !is('sending') }} />
        </Show>
      </div>
      <Switch>
        <Match when={is('done')}>
          <span class="upload-done">
            <Icon of={Check} />
          </span>
        </Match>
        <Match when={is('exists')}>
          <span class="problem">
            <Icon of={CircleAlert} />
          </span>
        </Match>
        <Match when={is('sending', 'waiting')}>
          <IconButton icon={Pause} label={t('pauseUpload', { name: name() })} onPress={() => props.queue.pause(now().id)} />
        </Match>
        <Match when={is('paused')}>
          <IconButton icon={Play} label={t('resumeUpload', { name: name() })} onPress={() => props.queue.resume(now().id)} />
        </Match>
        <Match when={is('failed', 'cancelled')}>
          <IconButton icon={RotateCw} label={t('retry', { name: name() })} onPress={() => props.queue.resume(now().id)} />
        </Match>
      </Switch>
      <Show when={is('sending', 'waiting', 'paused', 'lost', 'failed')}>
        <IconButton icon={X} label={t('cancelUpload', { name: name() })} onPress={() => props.queue.cancel(now().id)} />
      </Show>
    </li>
  );
}

function Conflict(props: { upload: Upload; queue: PageUploads }): JSX.Element {
  const [isForAll, setForAll] = createSignal(false);
  const others = () => props.queue.look().filter((each) => each.state === 'exists').length > 1;
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
