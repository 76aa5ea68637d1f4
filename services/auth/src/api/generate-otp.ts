import type * as wire from '@wharf/proto/auth';
import type { Call } from '@wharf/service-kit';
import type { TwoStep } from '../domain/two-step.ts';
import { accountOf } from './account-of.ts';

export const generateOtp =
  (twoStep: TwoStep) =>
  async (_: wire.GenerateOtpRequest, call: Call): Promise<wire.GenerateOtpResponse> =>
    twoStep.generate(accountOf(call, 'Guest user can not generate 2FA code').id);
