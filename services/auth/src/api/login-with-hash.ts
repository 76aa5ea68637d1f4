import type * as wire from '@wharf/proto/auth';
import type { Login } from '../domain/login.ts';
import { checkedPassword } from '../domain/passwords.ts';

export const loginWithHash =
  (logIn: Login) =>
  async ({ username, password, otp_code, address, user_agent }: wire.LoginWithHashRequest): Promise<wire.LoginWithHashResponse> => ({
    token: await logIn({ username, staticHash: checkedPassword(password), otpCode: otp_code, address, userAgent: user_agent }),
  });
