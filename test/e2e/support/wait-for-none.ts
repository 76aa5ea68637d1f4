import { type WaitOptions, waitFor } from '@wharf/harness';

/** Waits until a look finds nothing left. What it found last is the cause of the failure. @param what ends the sentence "waited in vain for ... to be gone" */
export async function waitForNone(what: string, look: () => Promise<readonly string[]>, options?: WaitOptions): Promise<void> {
  const isNone = async () => {
    const left = await look();
    if (left.length > 0) throw new Error(`there are ${left.slice(0, 20).join(', ')}`);
    return true;
  };
  await waitFor(`${what} to be gone`, isNone, options);
}
