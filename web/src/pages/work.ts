import { createSignal } from 'solid-js';
import { explain } from '../files/explain.ts';
import { notify } from '../parts/notices.tsx';

/** Something that is sent to the server: whether it is on its way, and what went wrong the last time. */
export function createWork() {
  const [isBusy, setBusy] = createSignal(false);
  const [problem, setProblem] = createSignal('');
  return {
    isBusy,
    problem,
    setProblem,
    /** False where it failed; `problem` says why. @param done is said where it succeeded. */
    async run(work: () => Promise<unknown>, done = ''): Promise<boolean> {
      setBusy(true);
      setProblem('');
      try {
        await work();
        if (done !== '') notify(done);
        return true;
      } catch (error) {
        setProblem(explain(error));
        return false;
      } finally {
        setBusy(false);
      }
    },
  };
}

/** Does something with a row of a list, and says what went wrong. */
export async function attempt(work: () => Promise<unknown>, done = ''): Promise<boolean> {
  try {
    await work();
    if (done !== '') notify(done);
    return true;
  } catch (error) {
    notify(explain(error), { isBad: true });
    return false;
  }
}
