import type { UploadStore } from './upload-session.ts';

/** Uploads that are looked at a time. */
const BATCH = 100;

/** Ends the unfinished uploads of users who may use nothing any more. @param abort takes one away */
export async function endUploadsOfOthers(
  store: Pick<UploadStore, 'userIds' | 'list'>,
  isActive: (userId: number) => Promise<boolean>,
  abort: (id: string) => Promise<void>,
): Promise<void> {
  for (const userId of await store.userIds()) {
    if (await isActive(userId)) continue;
    // Those that cannot be taken away must not stand in the way of others.
    let keptCount = 0;
    for (;;) {
      const sessions = await store.list(userId, { offset: keptCount, limit: BATCH });
      if (sessions.length === 0) break;
      for (const { id } of sessions)
        await abort(id).catch(() => {
          keptCount += 1;
        });
    }
  }
}
