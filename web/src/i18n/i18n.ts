import { createSignal } from 'solid-js';
import { recall, remember } from '../kept.ts';
import type { ItemWords } from './item-words.ts';
import { en, type Messages } from './messages-en.ts';
import type { PageMessages } from './page-messages-en.ts';
import { showName } from './show-name.ts';

interface Language {
  readonly name: string;
  readonly direction?: 'rtl';
  load(): Promise<Messages>;
  /** The texts of the account and of the administration, which are not needed to look at files. */
  loadPages(): Promise<PageMessages>;
  /** What the items of drivers and the settings are called, and what they are for where the server's own words are another language. */
  loadItems(): Promise<ItemWords>;
}

/** Languages by their own names; another one is three files beside the English ones, and a row here. */
export const LANGUAGES: Readonly<Record<string, Language>> = {
  en: {
    name: 'English',
    load: async () => en,
    loadPages: async () => (await import('./page-messages-en.ts')).pagesEn,
    loadItems: async () => (await import('./item-words-en.ts')).itemsEn,
  },
  zh: {
    name: '中文',
    load: async () => (await import('./messages-zh.ts')).zh,
    loadPages: async () => (await import('./page-messages-zh.ts')).pagesZh,
    loadItems: async () => (await import('./item-words-zh.ts')).itemsZh,
  },
};

const KEY = 'wharf.language';
const [language, setLanguage] = createSignal('en');
const [messages, setMessages] = createSignal<Messages & Partial<PageMessages>>(en);
let hasPages = false;

export { language };

/** Whether there is a text of this name. */
export const hasText = (key: string): key is keyof Messages => key in en;

/** How the viewer writes numbers and times in the page's language: British English differs from American. */
export const locale = () => navigator.languages.find((code) => code.startsWith(language())) ?? language();

/** Shows the page in another language, from now on and next time. */
export async function chooseLanguage(code: string): Promise<void> {
  const found = LANGUAGES[code];
  if (!found) return;
  const [files, pages] = await Promise.all([found.load(), hasPages ? found.loadPages() : {}]);
  setMessages({ ...files, ...pages });
  setLanguage(code);
  remember(KEY, code);
  document.documentElement.lang = code;
  document.documentElement.dir = found.direction ?? 'ltr';
}

/** The language that was chosen last, or the first of the browser's that there is. */
export function chooseFirstLanguage(): Promise<void> {
  const wanted = [recall(KEY) ?? '', ...navigator.languages].map((code) => code.slice(0, 2));
  return chooseLanguage(wanted.find((code) => code in LANGUAGES) ?? 'en');
}

/** Makes the texts of the account and of the administration known, from now on in each language that is chosen. */
export async function addPageMessages(): Promise<void> {
  hasPages = true;
  const pages = await LANGUAGES[language()]?.loadPages();
  setMessages((files) => ({ ...files, ...pages }));
}

/** The words for items of drivers and for settings, in a language that there is. */
export async function itemWords(code: string): Promise<ItemWords> {
  return (await LANGUAGES[code]?.loadItems()) ?? {};
}

export type MessageKey = keyof Messages | keyof PageMessages;

/**
 * A text in the viewer's language. `{name}` in it is replaced; of a text in forms (`one|other`), `n` chooses.
 */
export function t(key: MessageKey, values: Readonly<Record<string, string | number>> = {}): string {
  const forms = (messages()[key] ?? '').split('|');
  const isOther = forms.length > 1 && new Intl.PluralRules(language()).select(Number(values['n'])) !== 'one';
  const text = forms[isOther ? forms.length - 1 : 0] ?? '';
  return text.replace(/\{(\w+)\}/g, (_, name: string) => {
    const value = values[name];
    return typeof value === 'number' ? value.toLocaleString(locale()) : showName(value ?? '');
  });
}

/** Formatters are dear to make, and each row of a list needs the same few. */
function keeping<Options, Format>(make: (locale: string, options: Options) => Format): (options: Options) => Format {
  const made = new Map<string, Format>();
  return (options) => {
    const key = `${locale()} ${JSON.stringify(options)}`;
    const format = made.get(key) ?? make(locale(), options);
    made.set(key, format);
    return format;
  };
}
const numberFormat = keeping((locale: string, options: Intl.NumberFormatOptions) => new Intl.NumberFormat(locale, options));
const timeFormat = keeping((locale: string, options: Intl.DateTimeFormatOptions) => new Intl.DateTimeFormat(locale, options));

const relativeFormat = keeping((locale: string, options: Intl.RelativeTimeFormatOptions) => new Intl.RelativeTimeFormat(locale, options));

const DAY_MS = 86_400_000;

/** A day, a week or a month of the viewer's calendar by when it begins: in words where it is near, such as “Yesterday”. */
export function showPeriod(begins: Date, unit: 'day' | 'week' | 'month'): string {
  const now = new Date();
  // Days are not always of 24 hours.
  const days = Math.round((new Date(now.getFullYear(), now.getMonth(), now.getDate()).getTime() - begins.getTime()) / DAY_MS);
  const ago = Math.floor(unit === 'week' ? days / 7 : days);
  if (unit !== 'month' && (ago === 0 || ago === 1)) {
    const words = relativeFormat({ numeric: 'auto' }).format(-ago, unit);
    return words.charAt(0).toLocaleUpperCase(locale()) + words.slice(1);
  }
  const [month, year] = ['long', 'numeric'] as const;
  if (unit === 'month') return timeFormat({ month, year }).format(begins);
  if (unit === 'day') return timeFormat({ weekday: 'long', day: 'numeric', month, year }).format(begins);
  return t('weekOf', { date: timeFormat({ day: 'numeric', month, year }).format(begins) });
}

/** Bytes in the unit that leaves at most three digits before the point. */
export function showSize(bytes: number): string {
  const units = ['byte', 'kilobyte', 'megabyte', 'gigabyte', 'terabyte', 'petabyte'];
  const power = bytes < 1 ? 0 : Math.min(units.length - 1, Math.floor(Math.log10(bytes) / 3));
  const value = bytes / 1000 ** power;
  return numberFormat({
    style: 'unit',
    unit: units[power] ?? 'byte',
    unitDisplay: power === 0 ? 'long' : 'short',
    maximumFractionDigits: value < 10 && power > 0 ? 1 : 0,
  }).format(value);
}

/** @param seconds that are left, about */
export function showTimeLeft(seconds: number): string {
  if (seconds < 60) return t('secondsLeft', { n: Math.ceil(seconds) });
  return seconds < 5_400 ? t('minutesLeft', { n: Math.round(seconds / 60) }) : t('hoursLeft', { n: Math.round(seconds / 3_600) });
}

/** A moment in the viewer's zone: short for lists, with seconds where it is looked at. Empty where the storage does not know it. */
export function showTime(time: string, style: 'short' | 'full' = 'short'): string {
  const moment = new Date(time);
  if (!(moment.getTime() > 0)) return '';
  if (style === 'full') return timeFormat({ dateStyle: 'medium', timeStyle: 'medium' }).format(moment);
  const isThisYear = moment.getFullYear() === new Date().getFullYear();
  return timeFormat({
    ...(isThisYear ? {} : { year: 'numeric' }),
    ...{ month: 'short', day: 'numeric' },
    ...(isThisYear ? { hour: '2-digit', minute: '2-digit' } : {}),
  }).format(moment);
}
