import type { IconNode } from 'lucide';
import type { JSX } from 'solid-js';
import { Icon } from './icon.tsx';

/** A button that shows an icon; its label is read out and shown when it is pointed at. */
export function IconButton(props: {
  icon: IconNode;
  label: string;
  onPress: () => void;
  isPressed?: boolean;
  isDisabled?: boolean;
  class?: string;
  /** Those who use the keyboard get to it another way. */
  isByPointer?: boolean;
}): JSX.Element {
  return (
    <button
      type="button"
      class={`button is-quiet is-icon ${props.class ?? ''}`}
      aria-label={props.label}
      title={props.label}
      aria-pressed={props.isPressed}
      disabled={props.isDisabled}
      tabindex={props.isByPointer ? -1 : undefined}
      onClick={() => props.onPress()}
    >
      <Icon of={props.icon} />
    </button>
  );
}
