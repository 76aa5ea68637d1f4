/** The first Chinese character in the order of Pinyin of each initial. I, U and V begin no syllable. */
const INITIALS = [...'ABCDEFGHJKLMNOPQRSTWXYZ'];
const FIRST_OF_INITIALS = [...'阿八嚓哒妸发旮哈讥咔垃痳拏噢妑七呥扨它穵夕丫帀'];
const pinyin = new Intl.Collator('zh-u-co-pinyin');

/** A letter without its marks; of Chinese characters the initial of their Pinyin; digits are one group, and what is neither another. */
export function letterOf(name: string): string {
  const [first = ''] = name.normalize('NFD');
  if (/\p{Nd}/u.test(first)) return '0';
  if (/\p{Script=Han}/u.test(first)) {
    const behind = FIRST_OF_INITIALS.findIndex((each) => pinyin.compare(first, each) < 0);
    return INITIALS[(behind < 0 ? INITIALS.length : behind) - 1] ?? '#';
  }
  return /\p{L}/u.test(first) ? first.toLocaleUpperCase() : '#';
}
