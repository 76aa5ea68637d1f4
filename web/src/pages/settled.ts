import { type Accessor, createEffect, createSignal, on, onCleanup } from 'solid-js';

/** How long the viewer has stopped writing before the server is asked. */
const PAUSE_MS = 250;

/** What a form has, once it has stayed so for a moment; at first as it is. */
export function settled<Value>(present: Accessor<Value>): Accessor<Value> {
  const [value, setValue] = createSignal(present());
  createEffect(
    on(
      present,
      (next) => {
        const timer = setTimeout(() => setValue(() => next), PAUSE_MS);
        onCleanup(() => clearTimeout(timer));
      },
      { defer: true },
    ),
  );
  return value;
}
