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
      const byValue = compareDigits(left, l, endL, right, r, endR);
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

/** Makes no texts: a name may have a hundred such runs, and a folder hundreds of thousands of names. */
function compareDigits(left: string, fromL: number, endL: number, right: string, fromR: number, endR: number): number {
  let [l, r] = [passZeros(left, fromL, endL), passZeros(right, fromR, endR)];
  if (endL - l !== endR - r) return endL - l - (endR - r);
  for (; l < endL; l += 1, r += 1) {
    const difference = left.charCodeAt(l) - right.charCodeAt(r);
    if (difference !== 0) return difference;
  }
  return 0;
}

function passZeros(text: string, from: number, end: number): number {
  let at = from;
  while (at < end && text.charCodeAt(at) === 0x30) at += 1;
  return at;
}

function isDigit(unit: number): boolean {
  return unit >= 0x30 && unit <= 0x39;
}

function endOfDigits(text: string, from: number): number {
  let end = from;
  while (end < text.length && isDigit(text.charCodeAt(end))) end += 1;
  return end;
}
