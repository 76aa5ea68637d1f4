import { type Call, hasLongText, takeLongTurn } from '@wharf/service-kit';
import type { Operation } from '../domain/changing/operations/operation.ts';
import type { UploadSession } from '../domain/uploads/upload-session.ts';
import type { Uploads } from '../domain/uploads/uploads.ts';

/** What a request about an upload comes with. */
interface Asked {
  readonly uploads: Uploads;
  readonly operation: Operation;
  readonly call: Call;
}

/** An upload that a request is about. One with a long path comes by its turn, as requests do that bring the path along. @throws as find() of uploads */
export async function findUpload({ uploads, operation, call }: Asked, id: string): Promise<UploadSession> {
  const session = await uploads.find(operation, id);
  if (!hasLongText([session.path])) return session;
  await takeLongTurn(call);
  // More of it may have come meanwhile.
  return uploads.find(operation, id);
}
