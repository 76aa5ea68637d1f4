import type { IconNode } from 'lucide';
import { type JSX, Show } from 'solid-js';
import { Icon } from '../parts/icon.tsx';

/** A list of things that each can be acted on. */
export function Rows(props: { label: string; children: JSX.Element }): JSX.Element {
  return (
    <ul class="rows" aria-label={props.label}>
      {props.children}
    </ul>
  );
}

/** One thing: what it is called, what there is to know of it, and what can be done with it. */
export function Row(props: {
  icon: IconNode;
  title: JSX.Element;
  note?: JSX.Element;
  state?: JSX.Element;
  isFaint?: boolean;
  children?: JSX.Element;
}): JSX.Element {
  return (
    <li class="row" classList={{ 'is-faint': props.isFaint ?? false }}>
      <span class="row-icon">
        <Icon of={props.icon} size={20} />
      </span>
      <div class="row-text">
        <p class="row-title">{props.title}</p>
        <Show when={props.note}>
          <p class="note">{props.note}</p>
        </Show>
      </div>
      <Show when={props.state}>
        <div class="row-state">{props.state}</div>
      </Show>
      <div class="row-actions">{props.children}</div>
    </li>
  );
}

/** A word on how something is. */
export function Chip(props: { kind?: 'good' | 'warn' | 'bad' | 'plain'; children: JSX.Element }): JSX.Element {
  return <span class={`chip is-${props.kind ?? 'plain'}`}>{props.children}</span>;
}

/** What a list shows that has nothing in it: why, and what to do. */
export function Nothing(props: { icon: IconNode; title: string; hint?: string; children?: JSX.Element }): JSX.Element {
  return (
    <div class="nothing">
      <Icon of={props.icon} size={36} />
      <h3>{props.title}</h3>
      <Show when={props.hint}>
        <p class="note">{props.hint}</p>
      </Show>
      {props.children}
    </div>
  );
}
