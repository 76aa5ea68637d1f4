import { DropdownMenu } from '@kobalte/core/dropdown-menu';
import {
  ArrowLeft,
  CircleUserRound,
  CloudDownload,
  FilePlus,
  FolderPlus,
  FolderUp,
  HardDrive,
  type IconNode,
  Languages,
  LogIn,
  LogOut,
  Moon,
  Plus,
  Settings,
  Sun,
  SunMoon,
  Upload,
  UserRound,
  X,
} from 'lucide';
import { createResource, createSignal, For, type JSX, Show } from 'solid-js';
import { call } from './api/call.ts';
import { SECTIONS } from './areas.ts';
import type { Desk } from './files/desk.ts';
import { look } from './files/look.ts';
import { addressOf, isWithin } from './files/tree-path.ts';
import { chooseLanguage, LANGUAGES, language, t } from './i18n/i18n.ts';
import { askLogin } from './login/ask-login.ts';
import { ChoiceItem } from './parts/choice-item.tsx';
import { Icon } from './parts/icon.tsx';
import { IconButton } from './parts/icon-button.tsx';
import { type Area, addressOfPage, follow, openFolder, openPage, page } from './router.ts';
import { isAdmin, isGuest, logout, may, me, settings } from './session.ts';
import { TasksButton } from './tasks/tasks-button.tsx';
import { chooseFiles } from './uploads/choose-files.ts';
import './sidebar.css';

const [isShown, showSidebar] = createSignal(false);

export { showSidebar };

/** The site's name, what is new, the places that everything begins at, and the viewer. On a phone it comes in from the side. */
export function Sidebar(props: { desk: Desk }): JSX.Element {
  const [places, { refetch }] = createResource(
    () => me.latest?.username,
    () => call('/api/fs/dirs', { path: '/' }).catch(() => []),
  );
  const go = (path: string) => {
    showSidebar(false);
    openFolder(path);
  };
  const openTasks = () => {
    showSidebar(false);
    props.desk.setDialog({ kind: 'tasks' });
  };
  return (
    <>
      <Show when={look.isPhone() && isShown()}>
        <button type="button" class="veil" aria-label={t('close')} tabindex="-1" onClick={() => showSidebar(false)} />
      </Show>
      <aside class="sidebar" classList={{ 'is-shown': isShown() }} inert={look.isPhone() && !isShown()}>
        <div class="sidebar-head">
          <img src="/favicon.svg" alt="" width="28" height="28" />
          <span>{settings.latest?.['site_title'] ?? 'Wharf'}</span>
          <Show when={look.isPhone()}>
            <IconButton icon={X} label={t('close')} onPress={() => showSidebar(false)} />
          </Show>
        </div>
        <Show
          when={page()}
          fallback={
            <>
              <Show when={props.desk.canWrite()}>
                <NewMenu desk={props.desk} />
              </Show>
              <nav class="places" aria-label={t('places')} onFocusIn={() => places.error && void refetch()}>
                <PlaceLink path="/" name={t('allFiles')} isHere={props.desk.folder() === '/'} onOpen={go} />
                <For each={places()}>
                  {({ name }) => <PlaceLink path={`/${name}`} name={name} isHere={isWithin(props.desk.folder(), `/${name}`)} onOpen={go} />}
                </For>
              </nav>
            </>
          }
        >
          {(shown) => (
            <AreaLinks area={shown().area} section={shown().section} folder={props.desk.folder()} onGo={() => showSidebar(false)} />
          )}
        </Show>
        <Show when={!isGuest()}>
          <TasksButton desk={props.desk} onPress={openTasks} />
        </Show>
        <ViewerMenu />
      </aside>
    </>
  );
}

function PlaceLink(props: { path: string; name: string; isHere: boolean; onOpen: (path: string) => void }): JSX.Element {
  return (
    <SideLink
      href={addressOf(props.path)}
      icon={HardDrive}
      name={props.name}
      isHere={props.isHere}
      onOpen={() => props.onOpen(props.path)}
    />
  );
}

function SideLink(props: { href: string; icon: IconNode; name: string; isHere?: boolean; onOpen: () => void }): JSX.Element {
  return (
    <a class="place" href={props.href} aria-current={props.isHere ? 'true' : undefined} onClick={follow(() => props.onOpen())}>
      <Icon of={props.icon} />
      <span>{props.name}</span>
    </a>
  );
}

/** The pages of the account or of the administration, and the way back. */
function AreaLinks(props: { area: Area; section: string; folder: string; onGo: () => void }): JSX.Element {
  const go = (open: () => void) => {
    props.onGo();
    open();
  };
  return (
    <nav class="places" aria-label={t(props.area === 'account' ? 'account' : 'administration')}>
      <SideLink href={addressOf(props.folder)} icon={ArrowLeft} name={t('backToFiles')} onOpen={() => go(() => openFolder(props.folder))} />
      <h2 class="places-title">{t(props.area === 'account' ? 'account' : 'administration')}</h2>
      <For each={SECTIONS[props.area]}>
        {({ id, icon, label }) => (
          <SideLink
            href={addressOfPage(props.area, id)}
            icon={icon}
            name={t(label)}
            isHere={props.section === id}
            onOpen={() => go(() => openPage(props.area, id))}
          />
        )}
      </For>
    </nav>
  );
}

function NewMenu(props: { desk: Desk }): JSX.Element {
  const items = [
    { icon: Upload, label: 'uploadFiles', run: () => chooseFiles(props.desk, false) },
    { icon: FolderUp, label: 'uploadFolder', run: () => chooseFiles(props.desk, true) },
    { icon: FolderPlus, label: 'newFolder', run: () => props.desk.setDialog({ kind: 'new-folder' }) },
    { icon: FilePlus, label: 'newFile', run: () => props.desk.setDialog({ kind: 'new-file' }) },
    ...(may('offlineDownload')
      ? [{ icon: CloudDownload, label: 'offlineDownload', run: () => props.desk.setDialog({ kind: 'download' }) } as const]
      : []),
  ] as const;
  return (
    <DropdownMenu modal={false}>
      <DropdownMenu.Trigger class="button is-main new-button">
        <Icon of={Plus} />
        {t('new')}
      </DropdownMenu.Trigger>
      <DropdownMenu.Portal>
        <DropdownMenu.Content class="menu">
          <For each={items}>
            {({ icon, label, run }) => (
              <DropdownMenu.Item onSelect={() => setTimeout(run)}>
                <Icon of={icon} />
                {t(label)}
              </DropdownMenu.Item>
            )}
          </For>
        </DropdownMenu.Content>
      </DropdownMenu.Portal>
    </DropdownMenu>
  );
}

const THEMES = [
  { theme: 'system', icon: SunMoon, label: 'themeSystem' },
  { theme: 'light', icon: Sun, label: 'themeLight' },
  { theme: 'dark', icon: Moon, label: 'themeDark' },
] as const;

function ViewerMenu(): JSX.Element {
  return (
    <DropdownMenu modal={false}>
      <DropdownMenu.Trigger class="viewer-button">
        <Icon of={CircleUserRound} size={22} />
        <span>{isGuest() ? t('guest') : me.latest?.username}</span>
      </DropdownMenu.Trigger>
      <DropdownMenu.Portal>
        <DropdownMenu.Content class="menu">
          <Show when={!isGuest()}>
            <PageItem area="account" icon={UserRound} />
            <Show when={isAdmin()}>
              <PageItem area="admin" icon={Settings} />
            </Show>
            <hr />
          </Show>
          <DropdownMenu.RadioGroup value={look.theme()} onChange={(theme) => look.setTheme(theme as (typeof THEMES)[number]['theme'])}>
            <For each={THEMES}>{({ theme, icon, label }) => <ChoiceItem value={theme} icon={icon} name={t(label)} />}</For>
          </DropdownMenu.RadioGroup>
          <hr />
          <DropdownMenu.RadioGroup value={language()} onChange={(code) => void chooseLanguage(code)}>
            <For each={Object.entries(LANGUAGES)}>
              {([code, { name }]) => <ChoiceItem value={code} icon={Languages} name={name} language={code} />}
            </For>
          </DropdownMenu.RadioGroup>
          <hr />
          <DropdownMenu.Item onSelect={() => (isGuest() ? askLogin() : logout())}>
            <Icon of={isGuest() ? LogIn : LogOut} />
            {t(isGuest() ? 'login' : 'logout')}
          </DropdownMenu.Item>
        </DropdownMenu.Content>
      </DropdownMenu.Portal>
    </DropdownMenu>
  );
}

function PageItem(props: { area: Area; icon: IconNode }): JSX.Element {
  const open = () => {
    showSidebar(false);
    openPage(props.area);
  };
  return (
    <DropdownMenu.Item onSelect={open}>
      <Icon of={props.icon} />
      {t(props.area === 'account' ? 'account' : 'administration')}
    </DropdownMenu.Item>
  );
}
