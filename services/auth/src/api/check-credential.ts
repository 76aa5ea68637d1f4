import type * as wire from '@wharf/proto/auth';
import type { AppPasswords } from '../domain/app-passwords.ts';
import { checkedPassword } from '../domain/passwords.ts';

export const checkCredential =
  (appPasswords: AppPasswords) =>
  async (request: wire.CheckCredentialRequest): Promise<wire.CheckCredentialResponse> => {
    const { username, password, protocol, address } = request;
    const { user, appPassword, basePath } = await appPasswords.check({
      username,
      password: checkedPassword(password),
      protocol,
      address,
    });
    return {
      user_id: user.id,
      username: user.username,
      role: user.role,
      permission: user.permission,
      base_path: basePath,
      read_only: appPassword?.readOnly ?? false,
      app_password_id: appPassword?.id ?? 0,
    };
  };
