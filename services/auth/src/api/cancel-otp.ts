import type * as wire from '@wharf/proto/auth';
import type { TwoStep } from '../domain/two-step.ts';

export const cancelOtp =
  (twoStep: TwoStep) =>
  async ({ id }: wire.CancelOtpRequest): Promise<wire.CancelOtpResponse> => ({ revision: await twoStep.cancel(id) });
