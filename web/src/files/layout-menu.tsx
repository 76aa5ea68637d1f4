import { DropdownMenu } from '@kobalte/core/dropdown-menu';
import {
  Ban,
  Calendar,
  CalendarDays,
  CalendarRange,
  CaseSensitive,
  type IconNode,
  Images,
  LayoutGrid,
  List,
  Rows3,
  Rows4,
  Shapes,
  Weight,
} from 'lucide';
import { For, type JSX, Show } from 'solid-js';
import { t } from '../i18n/i18n.ts';
import type { Messages } from '../i18n/messages-en.ts';
import { ChoiceItem } from '../parts/choice-item.tsx';
import { Icon } from '../parts/icon.tsx';
import { GROUPINGS, type Grouping } from './group-entries.ts';
import { look } from './look.ts';

const LAYOUTS = {
  list: { icon: List, label: 'layoutList' },
  grid: { icon: LayoutGrid, label: 'layoutTiles' },
  gallery: { icon: Images, label: 'layoutGallery' },
} as const;

const DENSITIES = {
  roomy: { icon: Rows3, label: 'densityRoomy' },
  dense: { icon: Rows4, label: 'densityDense' },
} as const;

const GROUPS: Readonly<Record<Grouping, { readonly icon: IconNode; readonly label: keyof Messages }>> = {
  none: { icon: Ban, label: 'groupNone' },
  kind: { icon: Shapes, label: 'groupKind' },
  day: { icon: CalendarDays, label: 'groupDay' },
  week: { icon: CalendarRange, label: 'groupWeek' },
  month: { icon: Calendar, label: 'groupMonth' },
  letter: { icon: CaseSensitive, label: 'groupLetter' },
  size: { icon: Weight, label: 'groupSize' },
};

/** How the entries of folders stand: as rows, as tiles, or as pictures without words; how close rows stand, and in which groups. */
export function LayoutMenu(): JSX.Element {
  const label = () => t('layout', { name: t(LAYOUTS[look.layout()].label) });
  return (
    <DropdownMenu modal={false}>
      <DropdownMenu.Trigger class="button is-quiet is-icon" aria-label={label()} title={label()}>
        <Icon of={LAYOUTS[look.layout()].icon} />
      </DropdownMenu.Trigger>
      <DropdownMenu.Portal>
        <DropdownMenu.Content class="menu">
          <DropdownMenu.RadioGroup value={look.layout()} onChange={(layout) => look.setLayout(layout as keyof typeof LAYOUTS)}>
            <For each={Object.entries(LAYOUTS)}>
              {([value, { icon, label: name }]) => <ChoiceItem value={value} icon={icon} name={t(name)} />}
            </For>
          </DropdownMenu.RadioGroup>
          <Show when={!look.isPhone()}>
            <DropdownMenu.Separator class="menu-line" />
            <DropdownMenu.RadioGroup value={look.density()} onChange={(density) => look.setDensity(density as keyof typeof DENSITIES)}>
              <For each={Object.entries(DENSITIES)}>
                {([value, { icon, label: name }]) => <ChoiceItem value={value} icon={icon} name={t(name)} />}
              </For>
            </DropdownMenu.RadioGroup>
          </Show>
          <DropdownMenu.Separator class="menu-line" />
          <DropdownMenu.Group>
            <DropdownMenu.GroupLabel class="menu-label">{t('groupBy')}</DropdownMenu.GroupLabel>
            <DropdownMenu.RadioGroup value={look.grouping()} onChange={(grouping) => look.setGrouping(grouping as Grouping)}>
              <For each={GROUPINGS}>{(value) => <ChoiceItem value={value} icon={GROUPS[value].icon} name={t(GROUPS[value].label)} />}</For>
            </DropdownMenu.RadioGroup>
          </DropdownMenu.Group>
        </DropdownMenu.Content>
      </DropdownMenu.Portal>
    </DropdownMenu>
  );
}
