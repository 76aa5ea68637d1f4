import { ROLE } from '@wharf/rights';
import type { User } from '../user.ts';

/** A general user, with a password. */
export const ANN: User = {
  ...{ id: 7, username: 'ann', usernameKey: 'ann', choseName: false, passwordHash: 'hash', pwdTs: 1, basePath: '/', role: ROLE.general },
  ...{ permission: 0, disabled: false, ssoId: '', allowLdap: false, quotaBytes: 0, otpSecret: '' },
};
