const QUOTE = '!';
const LETTERS = 52;

/** Hides names from the eye: each character is turned by what the name and the key add up to. As rclone does it, character by character. */
export interface Obfuscation {
  hide(name: string): string;
  /** Undefined: nothing that hide() makes. */
  show(hidden: string): string | undefined;
}

export function createObfuscation(nameKey: Uint8Array): Obfuscation {
  const keySum = nameKey.reduce((sum, byte) => sum + byte, 0);
  return {
    hide(name) {
      if (name === '') return '';
      const own = [...name].reduce((sum, character) => sum + codeOf(character), 0) % 256;
      return `${own}.${[...name].map((character) => hidden(character, own + keySum)).join('')}`;
    },
    show(text) {
      const dot = text.indexOf('.');
      const own = text.slice(0, Math.max(dot, 0));
      if (own === QUOTE) return text.slice(dot + 1);
      if (!/^[+-]?\d{1,9}$/.test(own)) return undefined;
      const turn = Number(own) + keySum;
      let isQuoted = false;
      let shown = '';
      for (const character of text.slice(dot + 1)) {
        if (!isQuoted && character === QUOTE) {
          isQuoted = true;
          continue;
        }
        shown += isQuoted ? character : turned(character, turn, -1);
        isQuoted = false;
      }
      return shown;
    },
  };
}

function hidden(character: string, turn: number): string {
  if (character === QUOTE) return QUOTE + QUOTE;
  const result = turned(character, turn, 1);
  // Half of a surrogate pair is no character.
  return result.isWellFormed() ? result : QUOTE + character;
}

function turned(character: string, turn: number, sign: 1 | -1): string {
  const code = codeOf(character);
  if (character >= '0' && character <= '9') return moved(code, 0x30, 10, sign * ((turn % 9) + 1));
  if (/^[A-Za-z]$/.test(character)) {
    const at = wrapped(code - 0x41 - (code >= 0x61 ? 6 : 0) + sign * ((turn % 25) + 1), LETTERS);
    return String.fromCharCode(0x41 + at + (at >= 26 ? 6 : 0));
  }
  if (code >= 0xa0 && code <= 0xff) return moved(code, 0xa0, 96, sign * ((turn % 95) + 1));
  if (code >= 0x100) return moved(code, code - (code % 256), 256, sign * ((turn % 127) + 1));
  return character;
}

function moved(code: number, base: number, size: number, by: number): string {
  return String.fromCodePoint(base + wrapped(code - base + by, size));
}

function wrapped(value: number, size: number): number {
  return ((value % size) + size) % size;
}

function codeOf(character: string): number {
  return character.codePointAt(0) ?? 0;
}
