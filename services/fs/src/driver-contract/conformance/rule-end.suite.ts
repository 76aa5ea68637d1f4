import { AsyncLocalStorage } from 'node:async_hooks';
import { onTestFinished } from 'vitest';

type Step = () => unknown;

/** What is done when the rule that is running has ended. Vitest itself knows no such thing of tests that run beside each other. */
const endOfRule = new AsyncLocalStorage<Step[]>();

/** Runs when the rule that asks for it ends, however, the last one first; in a test that is no rule, when that has finished. */
export function atEnd(step: Step): void {
  const steps = endOfRule.getStore();
  if (steps) steps.push(step);
  else onTestFinished(async () => void (await step()));
}

/** Runs a rule and what it wants done at its end. @throws its failure, and those of its end */
export async function runToEnd(rule: () => Promise<void>): Promise<void> {
  const steps: Step[] = [];
  const failures: unknown[] = [];
  const note = (error: unknown) => failures.push(error);
  await endOfRule.run(steps, rule).catch(note);
  for (const step of steps.reverse()) await Promise.try(step).catch(note);
  if (failures.length > 1) throw new AggregateError(failures, failures.map(String).join('\n'));
  if (failures.length === 1) throw failures[0];
}
