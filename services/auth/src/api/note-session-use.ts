import type * as wire from '@wharf/proto/auth';

export const noteSessionUse =
  (noteUse: (id: string) => Promise<void>) =>
  async ({ id }: wire.NoteSessionUseRequest): Promise<wire.NoteSessionUseResponse> => {
    await noteUse(id);
    return {};
  };
