import { createSignal } from 'solid-js';
import { recall, remember } from '../kept.ts';
import { type Arrangement, GROUPINGS } from './group-entries.ts';
import type { Order } from './sort-entries.ts';

/** A choice of how things look that this browser remembers. */
function remembered<Value extends string>(key: string, first: Value, allowed: readonly Value[]) {
  const stored = recall(key);
  const [value, setValue] = createSignal<Value>(allowed.find((each) => each === stored) ?? first);
  const choose = (next: Value) => {
    remember(key, next);
    setValue(() => next);
  };
  return [value, choose] as const;
}

const [layout, setLayout] = remembered('wharf.layout', 'list', ['list', 'grid', 'gallery']);
const [theme, setTheme] = remembered('wharf.theme', 'system', ['system', 'light', 'dark']);
const [density, setDensity] = remembered('wharf.density', 'roomy', ['roomy', 'dense']);
const [details, setDetails] = remembered('wharf.details', 'no', ['yes', 'no']);
const ORDERS = ['name', '-name', 'size', '-size', 'modified', '-modified'] as const;
const [sorting, setSorting] = remembered('wharf.sort', 'name', ORDERS);
const [grouping, setGrouping] = remembered('wharf.group', 'none', GROUPINGS);
const order = (): Order => ({ by: sorting().replace('-', '') as Order['by'], isDescending: sorting().startsWith('-') });
const narrow = matchMedia('(max-width: 45rem)');
const [isPhone, setPhone] = createSignal(narrow.matches);
narrow.addEventListener('change', () => setPhone(narrow.matches));

export const look = {
  ...{ layout, setLayout, theme, setTheme, isPhone, density, setDensity, order, grouping, setGrouping },
  setOrder: ({ by, isDescending }: Order) => setSorting(`${isDescending ? '-' : ''}${by}`),
  arrangement: (): Arrangement => ({ order: order(), grouping: grouping() }),
  /** Whether entries stand beside each other. */
  showsTiles: () => layout() !== 'list',
  showsDetails: () => details() === 'yes',
  setShowsDetails: (isShown: boolean) => setDetails(isShown ? 'yes' : 'no'),
};
