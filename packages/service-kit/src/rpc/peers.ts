import type { AdminServiceClient } from '@wharf/proto/admin';
import type { AuthServiceClient } from '@wharf/proto/auth';
import type { DownloaderServiceClient } from '@wharf/proto/downloader';
import type { FsServiceClient } from '@wharf/proto/fs';
import type { WriteServiceClient } from '@wharf/proto/fs-write';
import type { TaskServiceClient } from '@wharf/proto/task';

/** The services that may be called, each behind its generated client. */
export interface Peers {
  readonly auth: AuthServiceClient;
  readonly admin: AdminServiceClient;
  readonly fs: FsServiceClient;
  /** Files that are brought into the tree. */
  readonly fsWrites: WriteServiceClient;
  readonly downloader: DownloaderServiceClient;
  /** The tasks of fs. */
  readonly fsTasks: TaskServiceClient;
  /** The tasks of the downloader. */
  readonly downloaderTasks: TaskServiceClient;
}
