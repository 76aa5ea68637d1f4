import { AppError } from '@wharf/errors';
import { type Call, outgoingCall, type ServiceKit } from '@wharf/service-kit';
import type { ExportedUser } from '../domain/export-document.ts';

/** The accounts, which auth keeps. Calls are made on behalf of whoever called us. */
export interface Users {
  list(call: Call): Promise<ExportedUser[]>;
  /** @returns the id of the new one. @throws AppError INVALID_ARGUMENT | RECORD_EXISTS */
  create(call: Call, user: Omit<ExportedUser, 'id'>, password: string): Promise<number>;
  /** The password stays. @throws AppError INVALID_ARGUMENT | RECORD_NOT_FOUND */
  update(call: Call, user: ExportedUser): Promise<void>;
}

export function createUsers({ peers, tokens }: Pick<ServiceKit, 'peers' | 'tokens'>): Users {
  return {
    async list(call) {
      const { content } = await peers.auth.listUsers({ page: 0, per_page: 0 }, outgoingCall(tokens, call));
      return content.map(({ id, username, base_path, role, disabled, permission, sso_id, allow_ldap, quota_bytes, chose_name }) => {
        if (username === '') throw new AppError('INTERNAL', 'a user without a name');
        const quota = typeof quota_bytes === 'number' ? { quota_bytes } : {};
        return { id, username, base_path, role, disabled, permission, sso_id, allow_ldap, ...quota, chose_name };
      });
    },
    async create(call, user, password) {
      const { id } = await peers.auth.createUser({ user: { ...user, password } }, outgoingCall(tokens, call));
      return id;
    },
    async update(call, user) {
      await peers.auth.updateUser({ user: { ...user, password: '' } }, outgoingCall(tokens, call));
    },
  };
}
