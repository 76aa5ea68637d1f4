import { CarryCallsResponse } from '@wharf/proto/call';

/** More than a service of ours says at a time: what waits has 256 KiB. To take millions, of six bytes each, would keep the thread for seconds. */
const MAX_STEPS = 100_000;
const STEPS = 1;

/** Reads a message of a shared stream. @throws Error for what is no message, or has steps without end */
export function decodeAnswers(bytes: Uint8Array): CarryCallsResponse {
  if (countSteps(bytes) > MAX_STEPS) throw new Error('more steps than a service of ours says at a time');
  return CarryCallsResponse.decode(bytes);
}

/** How many steps a message has, or one more than MAX_STEPS. What is no message is left to the decoder. */
function countSteps(bytes: Uint8Array): number {
  let at = 0;
  let steps = 0;
  const number = () => {
    let value = 0;
    for (let factor = 1; at < bytes.length; factor *= 128) {
      const byte = bytes[at++] ?? 0;
      value += (byte & 0x7f) * factor;
      if (byte < 0x80) break;
    }
    return value;
  };
  while (at < bytes.length && steps <= MAX_STEPS) {
    const tag = number();
    const form = tag % 8;
    if (form === 2) {
      if (tag >> 3 === STEPS) steps += 1;
      const length = number();
      at += length;
    } else if (form === 0) number();
    else if (form === 1) at += 8;
    else if (form === 5) at += 4;
    else break;
  }
  return steps;
}
