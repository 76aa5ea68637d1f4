import { createEffect, createResource, createSignal, type JSX, onCleanup, Show } from 'solid-js';
import { ApiError, call } from '../api/call.ts';
import { showTime, t } from '../i18n/i18n.ts';
import { ConfirmDialog, FormDialog } from '../pages/dialogs.tsx';
import { Loaded } from '../pages/loaded.tsx';
import { Page, Section } from '../pages/page.tsx';
import { Chip } from '../pages/rows.tsx';
import { attempt } from '../pages/work.ts';
import { FolderField } from './folder-field.tsx';
import { SettingsForm } from './settings-form.tsx';

const LOOK_AGAIN_MS = 2_000;

/** How far the index is; undefined: there is none, as the settings have it. */
export async function readProgress() {
  try {
    return { progress: await call('/api/admin/index/progress', {}) };
  } catch (error) {
    if (error instanceof ApiError && error.code === 404) return { progress: undefined };
    throw error;
  }
}

/** The index that finds names everywhere: how far it is, and what it leaves out. */
export function SearchIndex(): JSX.Element {
  const [state, { refetch }] = createResource(readProgress);
  const [open, setOpen] = createSignal<'update' | 'clear'>();
  const progress = () => (state.state === 'ready' || state.state === 'refreshing' ? state.latest?.progress : undefined);
  createEffect(() => {
    if (progress()?.is_done !== false) return;
    const timer = setTimeout(() => void refetch(), LOOK_AGAIN_MS);
    onCleanup(() => clearTimeout(timer));
  });
  const act = async (work: () => Promise<unknown>, done = '') => {
    await attempt(work, done);
    await refetch();
  };
  const switchTo = (value: string) =>
    act(async () => {
      await call('/api/admin/setting/save', [{ key: 'search_index', value }]);
      if (value !== 'none') await call('/api/admin/index/build', {});
    });
  return (
    <Page title={t('searchIndex')} hint={t('indexHint')}>
      <Loaded of={state} onRetry={() => void refetch()}>
        {(found) => (
          <Section title={t('indexTitle')} actions={<IndexState of={found().progress} />}>
            <Show
              when={found().progress}
              fallback={
                <div class="form-end">
                  <button type="button" class="button is-main" onClick={() => void switchTo('database')}>
                    {t('indexOn')}
                  </button>
                </div>
              }
            >
              {(now) => (
                <>
                  <dl class="facts-list" aria-live="polite">
                    <dt>{t('indexEntries')}</dt>
                    <dd>{t('items', { n: now().obj_count })}</dd>
                    <dt>{t('indexLast')}</dt>
                    <dd>{showTime(String(now().last_done_time ?? ''), 'full') || t('never')}</dd>
                    <Show when={now().error}>
                      <dt>{t('indexError')}</dt>
                      <dd class="problem">{now().error}</dd>
                    </Show>
                  </dl>
                  <div class="form-end">
                    <Show
                      when={now().is_done}
                      fallback={
                        <button type="button" class="button" onClick={() => void act(() => call('/api/admin/index/stop', {}))}>
                          {t('indexStop')}
                        </button>
                      }
                    >
                      <button
                        type="button"
                        class="button is-main"
                        onClick={() => void act(() => call('/api/admin/index/build', {}), t('indexBuilding'))}
                      >
                        {t('indexBuild')}
                      </button>
                      <button type="button" class="button" onClick={() => setOpen('update')}>
                        {t('indexUpdate')}
                      </button>
                      <button type="button" class="button" onClick={() => setOpen('clear')}>
                        {t('indexClear')}
                      </button>
                    </Show>
                    <button type="button" class="button" onClick={() => void switchTo('none')}>
                      {t('indexOff')}
                    </button>
                  </div>
                </>
              )}
            </Show>
          </Section>
        )}
      </Loaded>
      <SettingsForm groups={[{ group: 6, title: t('indexSettings') }]} />
      <Show when={open() === 'update'}>
        <UpdateDialog onStarted={() => void refetch()} onClose={() => setOpen()} />
      </Show>
      <Show when={open() === 'clear'}>
        <ConfirmDialog
          title={t('indexClear')}
          text={t('indexClearText')}
          confirm={t('indexClear')}
          onConfirm={async () => {
            await call('/api/admin/index/clear', {});
            await refetch();
          }}
          onClose={() => setOpen()}
        />
      </Show>
    </Page>
  );
}

function IndexState(props: { of: { is_done: boolean; error: string } | undefined }): JSX.Element {
  return (
    <Show when={props.of} fallback={<Chip>{t('isOff')}</Chip>}>
      {(now) => (
        <Chip kind={now().error !== '' ? 'bad' : now().is_done ? 'good' : 'warn'}>
          {t(now().error !== '' ? 'indexFailed' : now().is_done ? 'indexReady' : 'indexRuns')}
        </Chip>
      )}
    </Show>
  );
}

function UpdateDialog(props: { onStarted: () => void; onClose: () => void }): JSX.Element {
  const [path, setPath] = createSignal('/');
  return (
    <FormDialog
      title={t('indexUpdate')}
      send={t('indexUpdate')}
      done={t('indexBuilding')}
      onSend={async () => {
        await call('/api/admin/index/update', { paths: [path()], max_depth: -1 });
        props.onStarted();
      }}
      onClose={props.onClose}
    >
      <FolderField label={t('folder')} hint={t('indexUpdateHint')} value={path()} onInput={setPath} />
    </FormDialog>
  );
}
