import type * as wire from '@wharf/proto/auth';
import type { Call } from '@wharf/service-kit';
import type { SshKeys } from '../domain/ssh-keys.ts';
import { keyOwner } from './account-of.ts';

export const addSshKey =
  (sshKeys: SshKeys) =>
  async ({ title, key }: wire.AddSshKeyRequest, call: Call): Promise<wire.AddSshKeyResponse> => ({
    revision: await sshKeys.add(keyOwner(call).id, { title, key }),
  });
