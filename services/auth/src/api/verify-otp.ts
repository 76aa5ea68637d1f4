import type * as wire from '@wharf/proto/auth';
import type { Call } from '@wharf/service-kit';
import type { TwoStep } from '../domain/two-step.ts';
import { accountOf } from './account-of.ts';

export const verifyOtp =
  (twoStep: TwoStep) =>
  async ({ code, secret, otp_code }: wire.VerifyOtpRequest, call: Call): Promise<wire.VerifyOtpResponse> => ({
    revision: await twoStep.verify(accountOf(call, 'Guest user can not generate 2FA code').id, { code, secret, otp_code }),
  });
