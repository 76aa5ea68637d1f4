import type * as wire from '@wharf/proto/auth';
import type { Login } from '../domain/login.ts';
import { checkedPassword } from '../domain/passwords.ts';
import { staticHash } from '../domain/static-hash.ts';

export const login =
  (logIn: Login) =>
  async ({ username, password, otp_code, address, user_agent }: wire.LoginRequest): Promise<wire.LoginResponse> => ({
    token: await logIn({ username, staticHash: staticHash(checkedPassword(password)), otpCode: otp_code, address, userAgent: user_agent }),
  });
