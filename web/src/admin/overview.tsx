import { ArrowDownToLine, HardDrive, HeartPulse, type IconNode, ListChecks, Search, TriangleAlert, Users } from 'lucide';
import { createResource, For, type JSX, onCleanup, Show } from 'solid-js';
import { type Answer, call } from '../api/call.ts';
import { hasText, showSize, showTime, t } from '../i18n/i18n.ts';
import { Loaded } from '../pages/loaded.tsx';
import { Page, Section } from '../pages/page.tsx';
import { Chip } from '../pages/rows.tsx';
import { Icon } from '../parts/icon.tsx';
import { addressOfPage, follow, openPage } from '../router.ts';
import { settings } from '../session.ts';
import { showTool } from '../tasks/show-tool.ts';
import { TrailEntry } from './audit.tsx';
import { ALL, isBroken, troubleOf } from './records.ts';
import { readProgress } from './search-index.tsx';

const LOOK_AGAIN_MS = 10_000;
const LAST_ENTRIES = 6;

/** A service that is away takes nothing of the page with it but what it knows. */
const ifThere = <Value,>(asked: Promise<Value>): Promise<Value | undefined> => asked.catch(() => undefined);

async function readState() {
  const [services, storages, health, users, tools, index, trail, ...tasks] = await Promise.all([
    call('/api/admin/state', {}),
    ifThere(call('/api/admin/storage/list', ALL)),
    ifThere(call('/api/admin/storage/health', {})),
    ifThere(call('/api/admin/user/list', ALL)),
    ifThere(call('/api/public/offline_download_tools', {})),
    ifThere(readProgress()),
    ifThere(call('/api/admin/audit/list', { page: 1, per_page: LAST_ENTRIES })),
    ifThere(call('/api/admin/task/upload/undone', ALL)),
    ifThere(call('/api/admin/task/copy/undone', ALL)),
    ifThere(call('/api/admin/task/move/undone', ALL)),
    ifThere(call('/api/admin/task/offline_download/undone', ALL)),
    ifThere(call('/api/admin/task/offline_download_transfer/undone', ALL)),
  ]);
  return {
    services,
    storages: storages?.content,
    health: health?.content ?? [],
    users: users?.content,
    tools,
    index,
    trail: trail?.content ?? [],
    tasks: tasks.flatMap((each) => each ?? []),
  };
}

type State = Awaited<ReturnType<typeof readState>>;

/** How things are: what works, what is at work, and what needs somebody. */
export function Overview(): JSX.Element {
  const [state, { refetch }] = createResource(readState);
  const timer = setInterval(() => document.visibilityState === 'visible' && void refetch(), LOOK_AGAIN_MS);
  onCleanup(() => clearInterval(timer));
  return (
    <Page title={t('overview')}>
      <Loaded of={state} onRetry={() => void refetch()}>
        {(now) => (
          <>
            <Troubles of={now()} />
            <div class="tiles">
              <ServiceTile of={now().services} />
              <StorageTile of={now()} />
              <TaskTile of={now()} />
              <Tile
                icon={ArrowDownToLine}
                section="downloads"
                title={t('downloadTools')}
                text={now().tools?.map(showTool).join(', ') ?? t('notKnown')}
              />
              <Tile
                icon={Users}
                section="users"
                title={t('users')}
                text={ifKnown(now().users, (users) => t('people', { n: users.filter((user) => !user.disabled).length }))}
              />
              <IndexTile of={now()} />
            </div>
            <Section title={t('lastHappened')}>
              <ul class="trail" aria-label={t('lastHappened')}>
                <For each={now().trail}>{(entry) => <TrailEntry of={entry} isShort />}</For>
              </ul>
            </Section>
          </>
        )}
      </Loaded>
    </Page>
  );
}

const ifKnown = <Value,>(value: Value | undefined, show: (value: Value) => string) => (value === undefined ? t('notKnown') : show(value));

/** What does not work, each in its own words, and where to mend it. */
function Troubles(props: { of: State }): JSX.Element {
  const broken = () =>
    (props.of.storages ?? []).flatMap((storage) => {
      const health = props.of.health.find(({ id }) => id === storage.id);
      return isBroken(storage, health) ? [{ name: storage.mount_path, text: troubleOf(storage, health) }] : [];
    });
  const away = () => props.of.services.services.filter(({ works }) => !works);
  return (
    <Show when={broken().length + away().length > 0}>
      <section class="section troubles" aria-label={t('needsYou')}>
        <For each={away()}>
          {({ name, error }) => (
            <p>
              <Icon of={TriangleAlert} />
              <span>
                <strong>{t('serviceAway', { name })}</strong> {hasText(error) ? t(error) : error}
              </span>
            </p>
          )}
        </For>
        <For each={broken()}>
          {({ name, text }) => (
            <p>
              <Icon of={TriangleAlert} />
              <span>
                <strong>{t('storageDown', { name })}</strong> {text}
              </span>
              <PageLink section="storages">{t('look')}</PageLink>
            </p>
          )}
        </For>
      </section>
    </Show>
  );
}

/** Whether all parts of Wharf answer, and which version it is. */
function ServiceTile(props: { of: Answer<'/api/admin/state'> }): JSX.Element {
  const away = () => props.of.services.filter(({ works }) => !works).length;
  const slowest = () => Math.max(...props.of.services.map(({ latency_ms }) => latency_ms));
  const text = () =>
    [
      t('wharfVersion', { version: props.of.version, node: props.of.node_version }),
      t('apiLevel', { version: settings.latest?.['version'] ?? '' }),
      t('answersWithin', { n: slowest() }),
    ].join(' · ');
  return (
    <Tile
      icon={HeartPulse}
      title={t('services')}
      text={text()}
      chip={<Chip kind={away() > 0 ? 'bad' : 'good'}>{away() > 0 ? t('awayCount', { n: away() }) : t('allAnswer')}</Chip>}
    />
  );
}

function StorageTile(props: { of: State }): JSX.Element {
  const used = () => (props.of.storages ?? []).filter(({ disabled }) => !disabled);
  const broken = () =>
    used().filter((storage) =>
      isBroken(
        storage,
        props.of.health.find(({ id }) => id === storage.id),
      ),
    ).length;
  const free = () => used().reduce((sum, { mount_details }) => sum + (mount_details?.free_space ?? 0), 0);
  return (
    <Tile
      icon={HardDrive}
      section="storages"
      title={t('storages')}
      text={ifKnown(props.of.storages, () =>
        [t('storageCount', { n: used().length }), free() > 0 ? t('free', { size: showSize(free()) }) : ''].filter(Boolean).join(' · '),
      )}
      chip={
        props.of.storages && (
          <Chip kind={broken() > 0 ? 'bad' : 'good'}>{broken() > 0 ? t('brokenCount', { n: broken() }) : t('allWork')}</Chip>
        )
      }
    />
  );
}

function TaskTile(props: { of: State }): JSX.Element {
  const tasks = () => props.of.tasks;
  const speed = () => tasks().reduce((sum, task) => sum + task.speed, 0);
  return (
    <Tile
      icon={ListChecks}
      title={t('atWork')}
      text={tasks().length === 0 ? t('nothingAtWork') : t('tasksAtWork', { n: tasks().length })}
      chip={speed() > 0 ? <Chip kind="good">{t('perSecond', { size: showSize(speed()) })}</Chip> : undefined}
    />
  );
}

function IndexTile(props: { of: State }): JSX.Element {
  const text = () => {
    if (!props.of.index) return t('notKnown');
    const index = props.of.index.progress;
    if (!index) return t('isOff');
    if (index.error !== '') return index.error;
    const last = showTime(String(index.last_done_time ?? ''));
    return [t('items', { n: index.obj_count }), index.is_done ? last : t('indexRuns')].filter(Boolean).join(' · ');
  };
  return <Tile icon={Search} section="search" title={t('searchIndex')} text={text()} />;
}

function Tile(props: { icon: IconNode; section?: string; title: string; text: string; chip?: JSX.Element }): JSX.Element {
  return (
    <section class="tile" aria-label={props.title}>
      <Icon of={props.icon} size={20} />
      <h2>
        <Show when={props.section} fallback={props.title}>
          {(section) => <PageLink section={section()}>{props.title}</PageLink>}
        </Show>
      </h2>
      <p class="note">{props.text}</p>
      {props.chip}
    </section>
  );
}

function PageLink(props: { section: string; children: JSX.Element }): JSX.Element {
  return (
    <a href={addressOfPage('admin', props.section)} onClick={follow(() => openPage('admin', props.section))}>
      {props.children}
    </a>
  );
}
