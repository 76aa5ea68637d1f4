import { afterEach, beforeEach, expect, it } from 'vitest';
import { z } from 'zod';
import { defineTaskKind, TASK_STATE } from '../src/index.ts';
import { ANN, BOB, EVERYBODY, gate, type Installation, openOwnInstallation, unlessAborted } from './installation.ts';

let place: Installation;
beforeEach(async () => {
  place = await openOwnInstallation('cleanup-places');
});
afterEach(() => place.close());

it('what one user has cancelled, and what is silent when it is to be put away, leaves a place for others', async () => {
  const answer = gate();
  const begun: string[] = [];
  const kind = defineTaskKind({
    name: 'fetch',
    input: z.object({}),
    maxRetries: 0,
    run: async () => {},
    async onEnd(_outcome, { id, creator, signal }) {
      begun.push(id);
      if (creator?.id === ANN.id) await unlessAborted(signal, answer.opened);
    },
  });
  // None of them runs: they are put away by whoever looks for that.
  const engine = await place.open([kind], { avoidedKeys: () => ['left'] });
  const queued = (creator: typeof ANN, count: number) =>
    engine.addAll(
      kind,
      Array.from({ length: count }, (_, index) => ({ name: `${creator.name} ${index}`, creator, input: {}, keys: ['left'] })),
    );
  const anns = (await queued(ANN, 6)).map(({ _id }) => _id);
  await engine.apply('cancel', anns, 'fetch', EVERYBODY);
  const [bobs] = await queued(BOB, 1);
  await engine.apply('cancel', [bobs?._id ?? ''], 'fetch', EVERYBODY);
  await place.untilState(bobs?._id ?? '', TASK_STATE.canceled);
  expect(anns.filter((id) => begun.includes(id))).toHaveLength(3);
  answer.open();
  for (const id of anns) await place.untilState(id, TASK_STATE.canceled);
});
