import { createSignal } from 'solid-js';

/** A choice of how things look that this browser remembers. */
function remembered<Value extends string>(key: string, first: Value, allowed: readonly Value[]) {
  const stored = localStorage.getItem(key);
  const [value, setValue] = createSignal<Value>(allowed.find((each) => each === stored) ?? first);
  const choose = (next: Value) => {
    localStorage.setItem(key, next);
    setValue(() => next);
  };
  return [value, choose] as const;
}

const [layout, setLayout] = remembered('wharf.layout', 'list', ['list', 'grid', 'gallery']);
const [theme, setTheme] = remembered('wharf.theme', 'system', ['system', 'light', 'dark']);
const [density, setDensity] = remembered('wharf.density', 'roomy', ['roomy', 'dense']);
const [details, setDetails] = remembered('wharf.details', 'no', ['yes', 'no']);
const narrow = matchMedia('(max-width: 45rem)');
const [isPhone, setPhone] = createSignal(narrow.matches);
narrow.addEventListener('change', () => setPhone(narrow.matches));

export const look = {
  ...{ layout, setLayout, theme, setTheme, isPhone, density, setDensity },
  /** Whether entries stand beside each other. */
  showsTiles: () => layout() !== 'list',
  showsDetails: () => details() === 'yes',
  setShowsDetails: (isShown: boolean) => setDetails(isShown ? 'yes' : 'no'),
};
