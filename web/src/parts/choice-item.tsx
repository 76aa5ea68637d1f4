import { DropdownMenu } from '@kobalte/core/dropdown-menu';
import { Check, type IconNode } from 'lucide';
import type { JSX } from 'solid-js';
import { Icon } from './icon.tsx';

/** One of several in a menu, of which one is chosen. @param language of `name`, where it is another one than the page's */
export function ChoiceItem(props: { value: string; icon: IconNode; name: string; language?: string }): JSX.Element {
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
