import {
  Check,
  Clapperboard,
  Cloud,
  FlaskConical,
  FolderOpen,
  Folders,
  Globe,
  HardDrive,
  type IconNode,
  Link,
  LockKeyhole,
  Server,
  Waypoints,
  X,
} from 'lucide';
import { createMemo, createResource, createSignal, For, type JSX, Show } from 'solid-js';
import { type Answer, call } from '../api/call.ts';
import { type MessageKey, t } from '../i18n/i18n.ts';
import { FormDialog } from '../pages/dialogs.tsx';
import { SelectField } from '../pages/fields.tsx';
import { Loaded } from '../pages/loaded.tsx';
import { createWork } from '../pages/work.ts';
import { Icon } from '../parts/icon.tsx';
import { additionWith, changeStorage, createStorage, editedStorage, openedForm, itemsOf as parse } from './change-storage.ts';
import { helpOf, ItemField, labelOf } from './item-field.tsx';
import { type Item, isSecret, missing, type Values } from './item-values.ts';
import { KeptSecret } from './kept-secret.tsx';
import { missingOptions, type Option, valueIn, withValue } from './named-options.ts';
import { ChoiceField, createOptions, OptionFields } from './option-fields.tsx';
import type { Storage } from './records.ts';
import { STORAGE_TEMPLATES } from './storage-templates.ts';

type Driver = Answer<'/api/admin/driver/info'>;
type Test = Answer<'/api/admin/storage/test'>;

/** How kinds look, and what they are in words; of one that is not here, its name says it. */
const KINDS: Readonly<Record<string, { readonly icon: IconNode; readonly note: MessageKey }>> = {
  Local: { icon: FolderOpen, note: 'kindLocal' },
  S3: { icon: Cloud, note: 'kindS3' },
  WebDav: { icon: Globe, note: 'kindWebDav' },
  SFTP: { icon: Server, note: 'kindSftp' },
  FTP: { icon: Server, note: 'kindFtp' },
  SMB: { icon: Server, note: 'kindSmb' },
  Rclone: { icon: Cloud, note: 'kindRclone' },
  OpenList: { icon: Waypoints, note: 'kindSameApi' },
  'AList V3': { icon: Waypoints, note: 'kindSameApi' },
  Alias: { icon: Folders, note: 'kindAlias' },
  Crypt: { icon: LockKeyhole, note: 'kindCrypt' },
  UrlTree: { icon: Link, note: 'kindUrlTree' },
  Strm: { icon: Clapperboard, note: 'kindStrm' },
  Virtual: { icon: FlaskConical, note: 'kindVirtual' },
};
/** Those that most look for come first. */
const ORDER = Object.keys(KINDS);
const placeOf = (name: string) => (ORDER.indexOf(name) + ORDER.length + 1) % (ORDER.length + 1);

/** A storage: which kind, where it appears, and what its driver wants to know. It can be tried before it is saved. */
export function StorageDialog(props: { of: Storage | undefined; onSaved: () => void; onClose: () => void }): JSX.Element {
  const [drivers, { refetch }] = createResource(() => call('/api/admin/driver/list', {}));
  const [kind, setKind] = createSignal(props.of?.driver);
  return (
    <Show
      when={kind()}
      fallback={
        <FormDialog title={t('addStorage')} send={t('next')} isIncomplete isWide onSend={async () => undefined} onClose={props.onClose}>
          <Loaded of={drivers} onRetry={() => void refetch()}>
            {(all) => <Kinds of={Object.values(all())} onChoose={setKind} />}
          </Loaded>
        </FormDialog>
      }
    >
      {(name) => (
        <Show when={drivers.state === 'ready' && drivers.latest[name()]}>{(driver) => <StorageForm {...props} driver={driver()} />}</Show>
      )}
    </Show>
  );
}

function Kinds(props: { of: readonly Driver[]; onChoose: (name: string) => void }): JSX.Element {
  return (
    <ul class="kinds" aria-label={t('storageKind')}>
      <For each={props.of.toSorted((left, right) => placeOf(left.config.name) - placeOf(right.config.name))}>
        {({ config }) => (
          <li>
            <button type="button" onClick={() => props.onChoose(config.name)}>
              <Icon of={KINDS[config.name]?.icon ?? HardDrive} size={22} />
              <span>{config.name}</span>
              <Show when={KINDS[config.name]}>{(kind) => <span class="note">{t(kind().note)}</span>}</Show>
            </button>
          </li>
        )}
      </For>
    </ul>
  );
}

function StorageForm(props: { of: Storage | undefined; driver: Driver; onSaved: () => void; onClose: () => void }): JSX.Element {
  const { common, additional, config, options_by: chosenBy, options_in: optionItems } = props.driver;
  const saved = props.of;
  const opened = openedForm(props.driver, saved);
  const [frame, setFrame] = createSignal(opened.frame);
  const [own, setOwn] = createSignal(opened.own);
  const [template, setTemplate] = createSignal('');
  const addition = () => additionWith(additional, own(), saved?.addition ?? '{}');
  const options = createOptions({ driver: config.name, by: chosenBy, in: optionItems, values: own, addition });
  const isComplete = createMemo(
    () =>
      missing(common, frame()).length + missing(additional, own()).length === 0 &&
      missingOptions(options.lines(), options.valueFor).length === 0 &&
      frame()['mount_path'] !== '/',
  );
  const save = async () => {
    const values = { frame: frame(), own: own() };
    if (saved) await changeStorage(saved.id, (present) => editedStorage(props.driver, opened, values, present));
    else await createStorage(props.driver, values);
    props.onSaved();
  };
  const wanted = additional.filter(({ required, type }) => required && type !== 'bool');
  const logins = additional.filter(({ name, required }) => !required && /^(?:username|password|private_key|region)$/.test(name));
  const further = additional.filter((item) => !wanted.includes(item) && !logins.includes(item));
  const mountPath = common.find(({ name }) => name === 'mount_path');
  const kept = parse(saved?.addition ?? '{}');
  const keptText = (name: string) => (typeof kept[name] === 'string' ? kept[name] : '');
  /** What is chosen is what is saved: else nothing that is saved belongs to it. */
  const isSame = () => chosenBy[0] === undefined || options.chosen() === keptText(chosenBy[0]);
  /** What is secret and saved is not shown again: it stays, or another one takes its place. */
  const isKept = (item: Item) => isSecret(item) && keptText(item.name) !== '' && (isSame() || !options.items().includes(item.name));
  const isKeptOption = (option: Option) => option.secret && isSame() && valueIn(keptText(option.item), option) !== '';
  /** Another choice begins anew; the saved one with what is saved of it. */
  const choose = (item: Item, value: string) => {
    const rest = [...optionItems, ...options.items()].map((name) => [name, value === keptText(item.name) ? keptText(name) : '']);
    setOwn((present) => ({ ...present, ...Object.fromEntries(rest), [item.name]: value }));
  };
  const ownField = (item: Item) => (
    <Show when={isKept(item)} fallback={field(item, own, setOwn)}>
      <KeptSecret label={labelOf(item.name)} onReplace={() => setOwn((present) => ({ ...present, [item.name]: '' }))}>
        {field(item, own, setOwn)}
      </KeptSecret>
    </Show>
  );
  /** The item that says what is chosen, and what belongs to that. */
  const choiceField = (item: Item) => (
    <>
      <Show when={options.about(item.name)} fallback={field(item, own, setOwn)}>
        {(option) => (
          <ChoiceField
            label={labelOf(item.name)}
            hint={helpOf(item)}
            option={option()}
            value={String(own()[item.name] ?? '')}
            onInput={(value) => choose(item, value)}
          />
        )}
      </Show>
      <OptionFields
        of={options}
        isKept={isKeptOption}
        onInput={(option, value) =>
          setOwn((present) => ({ ...present, [option.item]: withValue(String(present[option.item] ?? ''), option, value) }))
        }
      />
      <For each={additional.filter(({ name }) => options.items().includes(name))}>{(each) => ownField(each)}</For>
    </>
  );
  const field = (item: Item, values: () => Values, set: (change: (present: Values) => Values) => void) => (
    <ItemField item={item} value={values()[item.name] ?? ''} onInput={(value) => set((present) => ({ ...present, [item.name]: value }))} />
  );
  return (
    <FormDialog
      title={saved ? t('editNamed', { name: saved.mount_path }) : t('addKind', { kind: config.name })}
      send={t(saved ? 'save' : 'addStorage')}
      done={t(saved ? 'saved' : 'storageAdded')}
      isWide
      isIncomplete={!isComplete()}
      more={<TestButton driver={config.name} id={saved?.id} addition={addition} />}
      onSend={save}
      onClose={props.onClose}
    >
      <Show when={config.alert !== ''}>
        <p class="note">{config.alert}</p>
      </Show>
      <Show when={!saved && STORAGE_TEMPLATES[config.name]}>
        {(templates) => (
          <SelectField
            label={t('vendor')}
            hint={t('vendorHint')}
            value={template()}
            options={[['', t('anotherVendor')], ...templates().map(({ name }) => [name, name] as const)]}
            onChange={(name) => {
              setTemplate(name);
              setOwn((present) => ({ ...present, ...templates().find((each) => each.name === name)?.values }));
            }}
          />
        )}
      </Show>
      <Show when={mountPath}>{(item) => field(item(), frame, setFrame)}</Show>
      <For each={[...wanted, ...logins]}>{(item) => (item.name === chosenBy[0] ? choiceField(item) : ownField(item))}</For>
      <details class="further">
        <summary>{t('furtherOfKind', { kind: config.name })}</summary>
        <div class="stack">
          <For each={further.filter(({ name }) => options.isByHand(name) && !options.items().includes(name))}>
            {(item) => ownField(item)}
          </For>
        </div>
      </details>
      <details class="further">
        <summary>{t('furtherOfEach')}</summary>
        <div class="stack">
          <For each={common.filter(({ name }) => name !== 'mount_path' && name !== 'order')}>{(item) => field(item, frame, setFrame)}</For>
        </div>
      </details>
    </FormDialog>
  );
}

/** Tries the storage as the form has it. Nothing is saved; a file is written and removed again. */
function TestButton(props: { driver: string; id: number | undefined; addition: () => string }): JSX.Element {
  const work = createWork();
  const [result, setResult] = createSignal<Test>();
  const run = () =>
    work.run(async () => {
      setResult();
      setResult(
        await call('/api/admin/storage/test', {
          ...(props.id === undefined ? {} : { id: props.id }),
          driver: props.driver,
          addition: props.addition(),
          write: true,
        }),
      );
    });
  return (
    <div class="test">
      <button type="button" class="button" disabled={work.isBusy()} onClick={() => void run()}>
        {t(work.isBusy() ? 'trying' : 'tryIt')}
      </button>
      <div role="status">
        <Show when={work.problem()}>
          <p class="problem">{work.problem()}</p>
        </Show>
        <Show when={result()}>
          {(found) => (
            <>
              <ul class="test-steps">
                <For each={found().steps}>
                  {(step) => (
                    <li classList={{ 'is-bad': !step.ok }}>
                      <Icon of={step.ok ? Check : X} />
                      {t(`step_${step.name}` as 'step_open')}
                    </li>
                  )}
                </For>
              </ul>
              <p classList={{ problem: !found().works }}>{found().works ? t('testWorks') : found().error}</p>
            </>
          )}
        </Show>
      </div>
    </div>
  );
}
