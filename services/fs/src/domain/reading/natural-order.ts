/**
 * Orders names as people count: runs of digits compare as numbers, everything else by code unit, case-sensitive. Numbers of equal value
 * are ordered by their text, so that the order is total.
 */
export function compareNaturally(left: string, right: string): number {
  let l = 0;
  let r = 0;
  while (l < left.length && r < right.length) {
    const a = left.charCodeAt(l);
    const b = right.charCodeAt(r);
    if (isDigit(a) && isDigit(b)) {
      const endL = endOfDigits(left, l);
      const endR = endOfDigits(right, r);
      const byValue = compareDigits(left.slice(l, endL), right.slice(r, endR));
      if (byValue !== 0) return byValue;
      l = endL;
      r = endR;
    } else {
      if (a !== b) return a - b;
      l += 1;
      r += 1;
    }
  }
  return left.length - l - (right.length - r) || (left < right ? -1 : left > right ? 1 : 0);
}

function compareDigits(left: string, right: string): number {
  const a = left.replace(/^0+/, '');
  const b = right.replace(/^0+/, '');
  return a.length - b.length || (a < b ? -1 : a > b ? 1 : 0);
}

function isDigit(unit: number): boolean {
  return unit >= 0x30 && unit <= 0x39;
}

function endOfDigits(text: string, from: number): number {
  let end = from;
  while (end < text.length && isDigit(text.charCodeAt(end))) end += 1;
  return end;
}
