import type * as wire from '@wharf/proto/auth';
import type { Call } from '@wharf/service-kit';
import type { TwoStep } from '../domain/two-step.ts';
import { accountOf } from './account-of.ts';

export const generateRecoveryCodes =
  (twoStep: TwoStep) =>
  async ({ code }: wire.GenerateRecoveryCodesRequest, call: Call): Promise<wire.GenerateRecoveryCodesResponse> =>
    twoStep.makeRecoveryCodes(accountOf(call, 'Guest user can not generate 2FA code').id, code);
