import { ArrowDown, ArrowUp, HardDrive, Pencil, Plus, Power, PowerOff, RefreshCw, Trash2 } from 'lucide';
import { createResource, createSignal, For, type JSX, Show } from 'solid-js';
import { call } from '../api/call.ts';
import { showSize, t } from '../i18n/i18n.ts';
import { ConfirmDialog } from '../pages/dialogs.tsx';
import { Loaded } from '../pages/loaded.tsx';
import { Page, Section } from '../pages/page.tsx';
import { Chip, Nothing, Row, Rows } from '../pages/rows.tsx';
import { attempt } from '../pages/work.ts';
import { Icon } from '../parts/icon.tsx';
import { IconButton } from '../parts/icon-button.tsx';
import { changeStorage } from './change-storage.ts';
import { ALL, type Health, type Storage, troubleOf } from './records.ts';
import { StorageDialog } from './storage-dialog.tsx';
import { moveInOrder } from './storage-order.ts';

/** Where files are kept: which places, whether they work, and in which order they stand. */
export function Storages(): JSX.Element {
  const [storages, { refetch }] = createResource(async () => {
    const [{ content }, { content: health }] = await Promise.all([
      call('/api/admin/storage/list', ALL),
      call('/api/admin/storage/health', {}),
    ]);
    return { content, health };
  });
  const [edited, setEdited] = createSignal<Storage | 'new'>();
  const [removed, setRemoved] = createSignal<Storage>();
  const act = async (work: () => Promise<unknown>, done = '') => {
    await attempt(work, done);
    await refetch();
  };
  const move = (storage: Storage, by: -1 | 1) =>
    act(async () => {
      const present = storages.latest?.content ?? [];
      for (const { id, order } of moveInOrder(present, storage.id, by)) await changeStorage(id, () => ({ order }));
    });
  return (
    <Page
      title={t('storages')}
      hint={t('storagesHint')}
      actions={
        <>
          <IconButton
            icon={RefreshCw}
            label={t('openAllAgain')}
            onPress={() => void act(() => call('/api/admin/storage/load_all', {}), t('openingAgain'))}
          />
          <button type="button" class="button is-main" onClick={() => setEdited('new')}>
            <Icon of={Plus} />
            {t('addStorage')}
          </button>
        </>
      }
    >
      <Section title={t('yourStorages')}>
        <Loaded of={storages} onRetry={() => void refetch()}>
          {(found) => (
            <Show
              when={found().content.length > 0}
              fallback={<Nothing icon={HardDrive} title={t('noStorages')} hint={t('noStoragesHint')} />}
            >
              <Rows label={t('storages')}>
                <For each={found().content}>
                  {(storage, at) => (
                    <StorageRow
                      of={storage}
                      health={found().health.find(({ id }) => id === storage.id)}
                      isFirst={at() === 0}
                      isLast={at() === found().content.length - 1}
                      onMove={(by) => void move(storage, by)}
                      onSwitch={() =>
                        void act(() =>
                          call(storage.disabled ? '/api/admin/storage/enable' : '/api/admin/storage/disable', { id: storage.id }),
                        )
                      }
                      onEdit={() => setEdited(storage)}
                      onRemove={() => setRemoved(storage)}
                    />
                  )}
                </For>
              </Rows>
            </Show>
          )}
        </Loaded>
      </Section>
      <Show when={edited()} keyed>
        {(storage) => (
          <StorageDialog of={storage === 'new' ? undefined : storage} onSaved={() => void refetch()} onClose={() => setEdited()} />
        )}
      </Show>
      <Show when={removed()}>
        {(storage) => (
          <ConfirmDialog
            title={t('removeNamed', { name: storage().mount_path })}
            text={t('removeStorageText')}
            confirm={t('remove')}
            done={t('removedNamed', { name: storage().mount_path })}
            onConfirm={async () => {
              await call('/api/admin/storage/delete', { id: storage().id });
              void refetch();
            }}
            onClose={() => setRemoved()}
          />
        )}
      </Show>
    </Page>
  );
}

/** How a storage gets on, in a word, and what is wrong in the storage's own words. */
function StorageState(props: { of: Storage; health: Health | undefined }): JSX.Element {
  const kind = (): readonly ['good' | 'warn' | 'bad' | 'plain', Parameters<typeof t>[0]] => {
    if (props.of.disabled) return ['plain', 'storageOff'];
    if (props.of.status !== 'work') return ['bad', 'storageFailed'];
    if (props.health?.state === 'failed' || props.health?.state === 'unavailable') return ['bad', 'storageUnavailable'];
    if (props.health?.state === 'opening') return ['warn', 'storageOpening'];
    return ['good', 'storageWorks'];
  };
  return <Chip kind={kind()[0]}>{t(kind()[1])}</Chip>;
}

function StorageRow(props: {
  of: Storage;
  health: Health | undefined;
  isFirst: boolean;
  isLast: boolean;
  onMove: (by: -1 | 1) => void;
  onSwitch: () => void;
  onEdit: () => void;
  onRemove: () => void;
}): JSX.Element {
  const name = () => props.of.mount_path;
  const room = () => {
    const details = props.of.mount_details;
    return details ? t('roomFree', { free: showSize(details.free_space), all: showSize(details.total_space) }) : '';
  };
  return (
    <Row
      icon={HardDrive}
      isFaint={props.of.disabled}
      title={name()}
      note={
        <>
          {[props.of.driver, room(), props.of.remark].filter(Boolean).join(' · ')}
          <Show when={troubleOf(props.of, props.health)}>{(text) => <span class="problem row-problem">{text()}</span>}</Show>
        </>
      }
      state={<StorageState of={props.of} health={props.health} />}
    >
      <IconButton icon={ArrowUp} label={t('moveUp', { name: name() })} isDisabled={props.isFirst} onPress={() => props.onMove(-1)} />
      <IconButton icon={ArrowDown} label={t('moveDown', { name: name() })} isDisabled={props.isLast} onPress={() => props.onMove(1)} />
      <IconButton
        icon={props.of.disabled ? Power : PowerOff}
        label={t(props.of.disabled ? 'switchOn' : 'switchOff', { name: name() })}
        onPress={props.onSwitch}
      />
      <IconButton icon={Pencil} label={t('editThis', { name: name() })} onPress={props.onEdit} />
      <IconButton icon={Trash2} label={t('removeThis', { name: name() })} onPress={props.onRemove} />
    </Row>
  );
}
