import type { KeptItem } from '../../driver-contract/kept-item.ts';
import type { RemoteWay } from './client.ts';
import { checkToken } from './parameters.ts';

interface KeptToken {
  /** As rclone is to be told it; empty: there is none. */
  text(): string;
  readonly watch: Pick<RemoteWay, 'onUsed' | 'onRefused'>;
}

/** The token of an account, which rclone renews and all replicas share. */
export function keptToken(kept: KeptItem): KeptToken {
  if (kept.value.trim() === '') return { text: () => '', watch: {} };
  /** As it is stored, and as rclone was told it. */
  let stored = kept.value;
  let told = '';
  let saving: Promise<void> | undefined;
  const save = async (read: (option: string) => Promise<string>) => {
    const now = await read('token');
    if (now === '' || now === told) return;
    const text = await kept.replace(stored, now);
    // Where another replica was faster, its token is taken with the next remote.
    stored = text;
    told = now;
  };
  return {
    text() {
      stored = kept.value;
      told = checkToken(stored);
      return told;
    },
    watch: {
      async onUsed(read) {
        await saving?.catch(() => undefined);
        saving ??= save(read).finally(() => {
          saving = undefined;
        });
        await saving;
      },
      async onRefused() {
        const before = stored;
        stored = await kept.replace(kept.value, kept.value);
        return stored !== before;
      },
    },
  };
}
