/** What a program tells of itself in `User-Agent`, as far as somebody recognises their device by it. */
export interface Device {
  readonly kind: 'computer' | 'phone' | 'program';
  /** Such as `Firefox`; empty: it said nothing. */
  readonly program: string;
  /** Such as `Android`; empty: it did not say. */
  readonly system: string;
}

/** The first that fits counts: browsers name those that they descend from as well. */
const PROGRAMS: readonly (readonly [RegExp, string])[] = [
  [/\bEdg(?:e|A|iOS)?\//, 'Edge'],
  [/\b(?:OPR|Opera)\//, 'Opera'],
  [/\bSamsungBrowser\//, 'Samsung Internet'],
  [/\b(?:Firefox|FxiOS)\//, 'Firefox'],
  [/\b(?:Chrome|CriOS|HeadlessChrome)\//, 'Chrome'],
  [/\bSafari\//, 'Safari'],
];
const SYSTEMS: readonly (readonly [RegExp, string])[] = [
  [/\biPhone\b/, 'iPhone'],
  [/\biPad\b/, 'iPad'],
  [/\bAndroid\b/, 'Android'],
  [/\bWindows\b/, 'Windows'],
  [/\bMac OS X\b/, 'macOS'],
  [/\bCrOS\b/, 'ChromeOS'],
  [/\bLinux\b/, 'Linux'],
];

const nameIn = (list: readonly (readonly [RegExp, string])[], text: string) => list.find(([pattern]) => pattern.test(text))?.[1];

export function deviceOf(userAgent: string): Device {
  const system = nameIn(SYSTEMS, userAgent) ?? '';
  const browser = nameIn(PROGRAMS, userAgent);
  if (browser === undefined) return { kind: 'program', program: /^[\w.-]+/.exec(userAgent)?.[0] ?? '', system };
  return { kind: /^(?:iPhone|iPad|Android)$/.test(system) ? 'phone' : 'computer', program: browser, system };
}
