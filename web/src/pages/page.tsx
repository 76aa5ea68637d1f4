import { Menu } from 'lucide';
import { createEffect, type JSX, Show } from 'solid-js';
import { look } from '../files/look.ts';
import { addPageMessages, t } from '../i18n/i18n.ts';
import { IconButton } from '../parts/icon-button.tsx';
import { settings } from '../session.ts';
import { showSidebar } from '../sidebar.tsx';
import './page.css';

// Nothing of a page is shown before its texts are there.
await addPageMessages();

/** A page beside the files: its title, what can be done with all of it, and what it shows. */
export function Page(props: { title: string; hint?: string; actions?: JSX.Element; children: JSX.Element }): JSX.Element {
  createEffect(() => {
    document.title = `${props.title} · ${settings.latest?.['site_title'] ?? 'Wharf'}`;
  });
  return (
    <div class="page">
      <header class="bar page-bar">
        <Show when={look.isPhone()}>
          <IconButton icon={Menu} label={t('menu')} onPress={() => showSidebar(true)} />
        </Show>
        <h1 class="bar-title">{props.title}</h1>
        {props.actions}
      </header>
      <main class="page-main">
        <div class="page-column">
          <Show when={props.hint}>
            <p class="page-hint">{props.hint}</p>
          </Show>
          {props.children}
        </div>
      </main>
    </div>
  );
}

/** A part of a page, on a card of its own. */
export function Section(props: { title: string; hint?: string; actions?: JSX.Element; children: JSX.Element }): JSX.Element {
  return (
    <section class="section">
      <header class="section-head">
        <div>
          <h2>{props.title}</h2>
          <Show when={props.hint}>
            <p class="note">{props.hint}</p>
          </Show>
        </div>
        {props.actions}
      </header>
      {props.children}
    </section>
  );
}
