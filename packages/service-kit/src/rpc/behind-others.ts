import type { LoginOfNow } from '../identity/login-of-now.ts';
import type { Call } from './call.ts';
import type { OneByOne } from './one-by-one.ts';

/** Carries out what waited for its turn only where the login that it came with has not ended meanwhile. */
export const createBehindOthers = (loginOfNow: (call: Call) => Promise<LoginOfNow>) => ({
  call:
    <Request, Answer>(
      turn: OneByOne,
      handle: (request: Request, call: Call, login: LoginOfNow) => Promise<Answer>,
    ): ((request: Request, call: Call) => Promise<Answer>) =>
    async (request, call) => {
      const login = await loginOfNow(call);
      const inTurn = async (asked: Request, its: Call) => {
        await login();
        return handle(asked, its, login);
      };
      return turn.call(inTurn)(request, call);
    },
  stream: <Request, Answer>(turn: OneByOne, handle: (request: Request, call: Call, login: LoginOfNow) => AsyncIterable<Answer>) =>
    async function* (request: Request, call: Call): AsyncGenerator<Answer, void> {
      const login = await loginOfNow(call);
      const inTurn = async function* (asked: Request, its: Call) {
        await login();
        yield* handle(asked, its, login);
      };
      yield* turn.stream(inTurn)(request, call);
    },
});
