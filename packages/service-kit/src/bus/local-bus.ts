import { outsideCalls } from '@wharf/pace';
import type { Bus, OnBusError, Subject } from './bus.ts';

/** The bus of a single process: handlers run after the publisher's own turn, and as no part of its call, as they would over the network. */
export function createLocalBus(onError: OnBusError): Bus {
  const handlers = new Map<string, Array<(event: never) => void>>();
  return {
    publish(subject, event) {
      const text = JSON.stringify(event);
      for (const handler of handlers.get(subject.name) ?? [])
        outsideCalls(() =>
          queueMicrotask(() => {
            try {
              handler(JSON.parse(text) as never);
            } catch (error) {
              onError(error, subject.name);
            }
          }),
        );
    },
    sent: async () => {},
    subscribe<Event>(subject: Subject<Event>, handler: (event: Event) => void) {
      const known = handlers.get(subject.name) ?? [];
      known.push(handler);
      handlers.set(subject.name, known);
    },
    isConnected: () => true,
    async close() {
      handlers.clear();
    },
  };
}
