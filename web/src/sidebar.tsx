import { DropdownMenu } from '@kobalte/core/dropdown-menu';
import {
  Check,
  CircleUserRound,
  FolderPlus,
  FolderUp,
  HardDrive,
  type IconNode,
  Languages,
  LogIn,
  LogOut,
  Moon,
  Plus,
  Sun,
  SunMoon,
  Upload,
  X,
} from 'lucide';
import { createResource, createSignal, For, type JSX, Show } from 'solid-js';
import { call } from './api/call.ts';
import type { Desk } from './files/desk.ts';
import { look } from './files/look.ts';
import { addressOf, isWithin } from './files/tree-path.ts';
import { chooseLanguage, LANGUAGES, language, t } from './i18n/i18n.ts';
import { askLogin } from './login/ask-login.ts';
import { Icon } from './parts/icon.tsx';
import { IconButton } from './parts/icon-button.tsx';
import { openFolder } from './router.ts';
import { isGuest, logout, me, settings } from './session.ts';
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
        <Show when={props.desk.canWrite()}>
          <NewMenu desk={props.desk} />
        </Show>
        <nav class="places" aria-label={t('places')} onFocusIn={() => places.error && void refetch()}>
          <PlaceLink path="/" name={t('allFiles')} isHere={props.desk.folder() === '/'} onOpen={go} />
          <For each={places()}>
            {({ name }) => <PlaceLink path={`/${name}`} name={name} isHere={isWithin(props.desk.folder(), `/${name}`)} onOpen={go} />}
          </For>
        </nav>
        <ViewerMenu />
      </aside>
    </>
  );
}

function PlaceLink(props: { path: string; name: string; isHere: boolean; onOpen: (path: string) => void }): JSX.Element {
  return (
    <a
      class="place"
      href={addressOf(props.path)}
      aria-current={props.isHere ? 'true' : undefined}
      onClick={(event) => {
        if (event.ctrlKey || event.metaKey || event.shiftKey) return;
        event.preventDefault();
        props.onOpen(props.path);
      }}
    >
      <Icon of={HardDrive} />
      <span>{props.name}</span>
    </a>
  );
}

function NewMenu(props: { desk: Desk }): JSX.Element {
  const items = [
    { icon: Upload, label: 'uploadFiles', run: () => chooseFiles(props.desk, false) },
    { icon: FolderUp, label: 'uploadFolder', run: () => chooseFiles(props.desk, true) },
    { icon: FolderPlus, label: 'newFolder', run: () => props.desk.setDialog({ kind: 'new-folder' }) },
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
          <DropdownMenu.Item onSelect={() => (isGuest() ? askLogin() : void logout())}>
            <Icon of={isGuest() ? LogIn : LogOut} />
            {t(isGuest() ? 'login' : 'logout')}
          </DropdownMenu.Item>
        </DropdownMenu.Content>
      </DropdownMenu.Portal>
    </DropdownMenu>
  );
}

function ChoiceItem(props: { value: string; icon: IconNode; name: string; language?: string }): JSX.Element {
  return (
    <DropdownMenu.RadioItem value={props.value} closeOnSelect>
      <Icon of={props.icon} />
      <span lang={props.language}>{props.name}</span>
      <DropdownMenu.ItemIndicator class="menu-check">
        <Icon of={Check} />
      </DropdownMenu.ItemIndicator>
    </DropdownMenu.RadioItem>
  );
}
