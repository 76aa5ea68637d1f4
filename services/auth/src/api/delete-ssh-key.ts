import type * as wire from '@wharf/proto/auth';
import type { Call } from '@wharf/service-kit';
import type { SshKeys } from '../domain/ssh-keys.ts';
import { keyOwner } from './account-of.ts';

export const deleteSshKey =
  (sshKeys: SshKeys) =>
  async ({ id }: wire.DeleteSshKeyRequest, call: Call): Promise<wire.DeleteSshKeyResponse> => ({
    revision: await sshKeys.remove(id, keyOwner(call).id),
  });

export const deleteUserSshKey =
  (sshKeys: SshKeys) =>
  async ({ id }: wire.DeleteUserSshKeyRequest): Promise<wire.DeleteUserSshKeyResponse> => ({ revision: await sshKeys.remove(id) });
