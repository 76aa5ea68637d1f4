import { Check, HardDrive, type IconNode, Smartphone, Users } from 'lucide';
import { createResource, createSignal, type JSX, Show } from 'solid-js';
import { call } from '../api/call.ts';
import { t } from '../i18n/i18n.ts';
import { remember as keep, recall } from '../kept.ts';
import { CopyButton } from '../pages/dialogs.tsx';
// Its texts and its look.
import '../pages/page.tsx';
import { Icon } from '../parts/icon.tsx';
import { InvitedDialog } from './invited-dialog.tsx';
import { ALL, ROLE } from './records.ts';
import { StorageDialog } from './storage-dialog.tsx';
import { UserDialog } from './user-dialog.tsx';
import { WELCOME_KEY } from './welcome-key.ts';
import './first-visit.css';

/** What Chromium hands a page that can be installed. */
interface InstallPrompt extends Event {
  prompt(): Promise<unknown>;
}

let installPrompt: InstallPrompt | undefined;
addEventListener('beforeinstallprompt', (event) => {
  event.preventDefault();
  installPrompt = event as InstallPrompt;
});

const isInstalled = () => matchMedia('(display-mode: standalone)').matches;

/** Where there is no storage but the one that a new Wharf has: three steps, until they are done or put away. */
export default function FirstVisit(props: { onStorage: () => void }): JSX.Element {
  const [memory, setMemory] = createSignal(recall(WELCOME_KEY) ?? '');
  const [open, setOpen] = createSignal<'storage' | 'user'>();
  const [invited, setInvited] = createSignal<{ name: string; password: string }>();
  const [state, { refetch }] = createResource(async () => {
    const [storages, users] = await Promise.all([call('/api/admin/storage/list', ALL), call('/api/admin/user/list', ALL)]);
    const hasStorage = storages.total > 1;
    // Who has brought storages in needs no steps, now and later.
    if (memory() === '') remember(hasStorage ? 'done' : 'shown');
    return { hasStorage, hasUser: users.content.some(({ role }) => role === ROLE.general) };
  });
  const remember = (value: string) => {
    keep(WELCOME_KEY, value);
    setMemory(value);
  };
  const now = () => (memory() === 'shown' && (state.state === 'ready' || state.state === 'refreshing') ? state.latest : undefined);
  return (
    <>
      <Show when={now()}>
        {(steps) => (
          <section class="welcome" aria-labelledby="welcome-title">
            <header>
              <div>
                <h2 id="welcome-title">{t('welcome')}</h2>
                <p class="note">{t('welcomeHint')}</p>
              </div>
              <button type="button" class="button is-quiet" onClick={() => remember('done')}>
                {t(steps().hasStorage && steps().hasUser ? 'close' : 'notNow')}
              </button>
            </header>
            <ol>
              <Step icon={HardDrive} title={t('stepMount')} hint={t('stepMountHint')} isDone={steps().hasStorage}>
                <button type="button" class="button is-main" onClick={() => setOpen('storage')}>
                  {t('addStorage')}
                </button>
              </Step>
              <Step icon={Users} title={t('stepInvite')} hint={t('stepInviteHint')} isDone={steps().hasUser}>
                <button type="button" class="button" onClick={() => setOpen('user')}>
                  {t('invite')}
                </button>
              </Step>
              <Step icon={Smartphone} title={t('stepApps')} hint={t('stepAppsHint')} isDone={isInstalled()}>
                <Show when={installPrompt} fallback={<p class="note">{t('installByHand')}</p>}>
                  {(prompt) => (
                    <button type="button" class="button" onClick={() => void prompt().prompt()}>
                      {t('installApp')}
                    </button>
                  )}
                </Show>
                <CopyButton text={location.origin} label={t('copyAddress')} />
              </Step>
            </ol>
          </section>
        )}
      </Show>
      <Show when={open() === 'storage'}>
        <StorageDialog
          of={undefined}
          onSaved={() => {
            void refetch();
            props.onStorage();
          }}
          onClose={() => setOpen()}
        />
      </Show>
      <Show when={open() === 'user'}>
        <UserDialog
          of={undefined}
          onSaved={(made) => {
            setInvited(made);
            void refetch();
          }}
          onClose={() => setOpen()}
        />
      </Show>
      <Show when={invited()}>{(made) => <InvitedDialog of={made()} onClose={() => setInvited()} />}</Show>
    </>
  );
}

function Step(props: { icon: IconNode; title: string; hint: string; isDone: boolean; children: JSX.Element }): JSX.Element {
  return (
    <li classList={{ 'is-done': props.isDone }}>
      <Icon of={props.isDone ? Check : props.icon} size={22} />
      <h3>
        {props.title}
        <Show when={props.isDone}>
          <span class="unseen"> ({t('stepDone')})</span>
        </Show>
      </h3>
      <p class="note">{props.hint}</p>
      <div class="step-actions">{props.children}</div>
    </li>
  );
}
