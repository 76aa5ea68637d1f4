import type { z } from 'zod';

/** A kind of event: its subject `wharf.<owner>.<fact>.v1` and the shape of its JSON. */
export interface Subject<Event> {
  readonly name: string;
  readonly schema: z.ZodType<Event>;
}

/**
 * Carries facts and hints between processes, never the only copy of anything: an event may be lost or come twice, and a subscriber gets no
 * events from before it started.
 */
export interface Bus {
  /** Sends without waiting; a publisher gets its own events too. */
  publish<Event>(subject: Subject<Event>, event: Event): void;
  /** Waits until what was sent is on its way to its subscribers, but not for long: a bus that stands still holds nobody up. Never rejects. */
  sent(): Promise<void>;
  /** Calls the handler for every event of the subject until the bus closes. A handler that throws is logged. */
  subscribe<Event>(subject: Subject<Event>, handler: (event: Event) => void): void;
  /** False while events cannot reach other processes. */
  isConnected(): boolean;
  close(): Promise<void>;
}

/** What a bus does with an event that cannot be read or whose handler failed. */
export type OnBusError = (error: unknown, subject: string) => void;
