import { type Call, outgoingCall, type ServiceKit } from '@wharf/service-kit';

/** The permanent token, which auth keeps. */
export interface PermanentToken {
  read(call: Call): Promise<string>;
  /** @throws AppError INVALID_ARGUMENT: auth does not take this text */
  replace(call: Call, token: string): Promise<void>;
}

/** Calls auth on behalf of our caller. */
export function createPermanentToken({ peers, tokens }: Pick<ServiceKit, 'peers' | 'tokens'>): PermanentToken {
  return {
    read: async (call) => (await peers.auth.getPermanentToken({}, outgoingCall(tokens, call))).token,
    async replace(call, token) {
      await peers.auth.setPermanentToken({ token }, outgoingCall(tokens, call));
    },
  };
}
