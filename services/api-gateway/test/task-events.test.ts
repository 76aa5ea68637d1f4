import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { type ClientRequest, get, type IncomingMessage, type ServerResponse } from 'node:http';
import { waitFor } from '@wharf/harness';
import { accountsChanged } from '@wharf/models';
import { ROLE } from '@wharf/rights';
import { connectStore, createLocalBus } from '@wharf/service-kit';
import { createTaskEngine, defineTaskKind, TASK_STATE, type TaskCreator, type TaskEngine } from '@wharf/task-engine';
import { pino } from 'pino';
import { Registry } from 'prom-client';
import { afterAll, afterEach, beforeAll, expect, it, onTestFinished, vi } from 'vitest';
import { z } from 'zod';
import { type Gateway, openGateway, PERMANENT_TOKEN } from './gateway.ts';

const kind = defineTaskKind({
  name: 'copy',
  input: z.object({}),
  maxRetries: 0,
  run: ({ signal }) => new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason), { once: true })),
});

let gateway: Gateway;
/** A replica of fs, and one of the downloader: each with a connection of its own and without a bus that reaches the gateway. */
let fs: TaskEngine;
let downloader: TaskEngine;
const closing: Array<() => Promise<void>> = [];
const streams: Stream[] = [];

interface Stream {
  readonly status: number;
  readonly headers: IncomingMessage['headers'];
  readonly events: Array<{ name: string; data: unknown }>;
  text(): string;
  isOver(): boolean;
  close(): void;
}

beforeAll(async () => {
  gateway = await openGateway();
  const open = async (owner: 'fs' | 'downloader') => {
    const store = await connectStore(gateway.storeUrl);
    const engine = createTaskEngine({
      owner,
      store,
      bus: createLocalBus(() => {}),
      logger: pino({ level: 'silent' }),
      metrics: new Registry(),
      kinds: [kind],
    });
    await engine.start();
    closing.push(async () => {
      await engine.stop();
      await store.close();
    });
    return engine;
  };
  fs = await open('fs');
  downloader = await open('downloader');
}, 60_000);
afterEach(() => {
  for (const stream of streams.splice(0)) stream.close();
});
afterAll(async () => {
  for (const close of closing) await close();
  await gateway?.close();
});

async function watch(authorization: string, headers: Record<string, string> = {}): Promise<Stream> {
  let request: ClientRequest | undefined;
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    request = get(`${gateway.base}/api/task/events`, { headers: { Authorization: authorization, ...headers }, agent: false }, resolve);
    request.on('error', reject);
  });
  let text = '';
  let isOver = false;
  const events: Stream['events'] = [];
  response.setEncoding('utf8').on('data', (chunk: string) => {
    text += chunk;
    for (
      let end = text.indexOf('\n\n');
      end >= 0 && response.headers['content-type']?.startsWith('text/event-stream');
      end = text.indexOf('\n\n')
    ) {
      const lines = text.slice(0, end).split('\n');
      text = text.slice(end + 2);
      const field = (name: string) => lines.find((line) => line.startsWith(`${name}: `))?.slice(name.length + 2);
      const name = field('event');
      if (name !== undefined) events.push({ name, data: JSON.parse(field('data') ?? 'null') });
    }
  });
  response.on('close', () => {
    isOver = true;
  });
  response.on('error', () => {});
  const stream: Stream = {
    status: response.statusCode ?? 0,
    headers: response.headers,
    events,
    text: () => text,
    isOver: () => isOver,
    close: () => request?.destroy(),
  };
  streams.push(stream);
  return stream;
}

/** A user who is logged in. */
async function somebody(): Promise<{ token: string; creator: TaskCreator }> {
  const token = await gateway.login(0);
  const me = await gateway.request({ path: '/api/me', headers: { Authorization: token } });
  const { data } = z.object({ data: z.object({ id: z.number(), username: z.string() }) }).parse(me.json());
  return { token, creator: { id: data.id, name: data.username, role: ROLE.general } };
}

const withId = z.object({ id: z.string() });
const idsOf = (data: unknown) =>
  z
    .array(withId)
    .parse(data)
    .map(({ id }) => id);
const told = (stream: Stream, name: string, id: string) =>
  stream.events.findLast((event) => event.name === name && withId.safeParse(event.data).data?.id === id)?.data;

it('a watcher gets what is there, then what changes, of both services and without the bus', async () => {
  const ann = await somebody();
  const before = await fs.add(kind, { name: 'before', creator: ann.creator, input: {} });
  const stream = await watch(ann.token);
  expect([stream.status, stream.headers['content-type'], stream.headers['cache-control']]).toEqual([
    200,
    'text/event-stream; charset=utf-8',
    'no-store',
  ]);
  await waitFor('the snapshot', () => stream.events.length > 0 || undefined);
  expect([stream.events[0]?.name, idsOf(stream.events[0]?.data)]).toEqual(['snapshot', [before._id]]);

  const later = await downloader.add(kind, { name: 'later', creator: ann.creator, input: {} });
  await waitFor(
    'the new task at work',
    () => z.object({ state: z.literal(1) }).safeParse(told(stream, 'task', later._id)).success || undefined,
  );
  expect(told(stream, 'task', later._id)).toMatchObject({
    name: 'later',
    creator: ann.creator.name,
    list: 'copy',
    paused: false,
    end_time: null,
  });
  const everybodys = { creatorId: undefined };
  await downloader.apply('cancel', [later._id], 'copy', everybodys);
  await waitFor(
    'the cancelled task',
    () => z.object({ state: z.literal(TASK_STATE.canceled) }).safeParse(told(stream, 'task', later._id)).success || undefined,
  );
  await downloader.apply('delete', [later._id], 'copy', everybodys);
  await waitFor('the removal', () => told(stream, 'removed', later._id) !== undefined || undefined);
  expect(told(stream, 'removed', later._id)).toEqual({ id: later._id });
});

it('nobody is told of the tasks of others, whatever event a client says it saw last; the administrator is told of all (C9)', async () => {
  const [ann, bob] = [await somebody(), await somebody()];
  const first = await fs.add(kind, { name: 'secret one', creator: ann.creator, input: {} });
  const anns = await watch(ann.token);
  const bobs = await watch(bob.token, { 'Last-Event-ID': first._id });
  const admins = await watch(PERMANENT_TOKEN);
  const second = await fs.add(kind, { name: 'secret two', creator: ann.creator, input: {} });
  const nobodys = await fs.add(kind, { name: 'secret three', creator: undefined, input: {} });
  const own = await fs.add(kind, { name: 'own', creator: bob.creator, input: {} });
  await fs.apply('cancel', [second._id], 'copy', { creatorId: undefined });
  await fs.apply('delete', [second._id], 'copy', { creatorId: undefined });
  await waitFor('the own task', () => told(bobs, 'task', own._id) !== undefined || undefined);
  await waitFor('all of the administrator', () => told(admins, 'task', own._id) !== undefined || undefined);
  await waitFor('the removal', () => (told(anns, 'removed', second._id) && told(admins, 'removed', second._id)) !== undefined || undefined);
  expect(told(admins, 'task', nobodys._id)).toMatchObject({ creator: '', creator_role: -1 });
  expect(bobs.events[0]).toEqual({ name: 'snapshot', data: [] });
  const seen = JSON.stringify(bobs.events);
  for (const foreign of ['secret', first._id, second._id, nobodys._id, ann.creator.name]) expect(seen).not.toContain(foreign);
  expect(JSON.stringify(anns.events)).not.toContain(own._id);
  expect(JSON.stringify(anns.events)).not.toContain(nobodys._id);
});

it('a stream ends with the login it was opened by, also without the bus', async () => {
  const [ann, bob] = [await somebody(), await somebody()];
  const anns = await watch(ann.token);
  const bobs = await watch(bob.token);
  await waitFor('both snapshots', () => (anns.events.length > 0 && bobs.events.length > 0) || undefined);
  await gateway.models.sessions.deleteMany({ user_id: ann.creator.id });
  await waitFor('the end', () => anns.isOver() || undefined);
  const later = await fs.add(kind, { name: 'later', creator: ann.creator, input: {} });
  const own = await fs.add(kind, { name: 'own', creator: bob.creator, input: {} });
  await waitFor('the own task', () => told(bobs, 'task', own._id) !== undefined || undefined);
  expect(JSON.stringify(anns.events)).not.toContain(later._id);
  expect(bobs.isOver()).toBe(false);
});

it('a stream ends when the role of its user changes', async () => {
  const ann = await somebody();
  const stream = await watch(ann.token);
  await waitFor('the snapshot', () => stream.events.length > 0 || undefined);
  await gateway.models.users.updateOne({ _id: ann.creator.id }, { role: ROLE.admin });
  gateway.kit.bus.publish(accountsChanged, { revision: 1_000 });
  await waitFor('the end', () => stream.isOver() || undefined);
});

it('where one process is refused by another nobody is told to be logged out: a stream goes on, a new one is a failure', async () => {
  const ann = await somebody();
  const stream = await watch(ann.token);
  await waitFor('the snapshot', () => stream.events.length > 0 || undefined);
  const lean = vi.fn(async () => gateway.kit.tokens.verify('of another secret'));
  const looks = vi.spyOn(gateway.models.sessions, 'findOne').mockImplementation((() => ({ lean })) as never);
  onTestFinished(() => looks.mockRestore());
  gateway.kit.bus.publish(accountsChanged, { revision: 1_000 });
  await waitFor('a look', () => lean.mock.calls.length > 0 || undefined);
  const refused = await watch(ann.token);
  await waitFor('the answer', () => refused.isOver() || undefined);
  expect(JSON.parse(refused.text())).toMatchObject({ code: 500, message: expect.stringContaining('secrets or clocks') });
  expect(refused.headers['x-error-code']).toBe('STORAGE_UNAVAILABLE');
  looks.mockRestore();
  const own = await fs.add(kind, { name: 'own', creator: ann.creator, input: {} });
  await waitFor('the task', () => told(stream, 'task', own._id) !== undefined || undefined);
  expect(stream.isOver()).toBe(false);
});

it('who may not watch gets an envelope', async () => {
  const envelope = async (stream: Stream) => {
    await waitFor('the answer', () => stream.isOver() || undefined);
    return JSON.parse(stream.text());
  };
  expect(await envelope(await watch(''))).toEqual({ code: 401, message: 'Guest user is disabled, login please', data: null });
  expect(await envelope(await watch('no-such-token'))).toEqual({ code: 401, message: 'token is invalidated', data: null });
  await gateway.setGuest({ disabled: false, permission: 0xffff });
  expect(await envelope(await watch(''))).toEqual({ code: 403, message: 'You are a guest', data: null });
  await gateway.setGuest({ disabled: true, permission: 0 });
  const posted = await gateway.request({ method: 'POST', path: '/api/task/events', headers: { Authorization: PERMANENT_TOKEN } });
  expect(posted.json()).toMatchObject({ code: 405, data: null });
});

it('a client that goes while it is found out who it is has no stream, and keeps no place', async () => {
  const { token } = await somebody();
  let answer: ServerResponse | undefined;
  const note = (message: unknown) => {
    answer = (message as { response: ServerResponse }).response;
  };
  subscribe('http.server.request.start', note);
  onTestFinished(() => void unsubscribe('http.server.request.start', note));
  const read = gateway.models.sessions.findOne.bind(gateway.models.sessions);
  for (let times = 0; times < 20; times += 1) {
    const asked = Promise.withResolvers<void>();
    const gone = Promise.withResolvers<void>();
    // The store answers when the client has gone.
    const lean = async (filter: object) => {
      asked.resolve();
      await gone.promise;
      return read(filter).lean();
    };
    const looks = vi
      .spyOn(gateway.models.sessions, 'findOne')
      .mockImplementationOnce(((filter: object) => ({ lean: () => lean(filter) })) as never);
    gateway.kit.bus.publish(accountsChanged, { revision: 1_000 });
    const client = get(`${gateway.base}/api/task/events`, { headers: { Authorization: token } }).on('error', () => undefined);
    await asked.promise;
    const closed = new Promise((resolve) => answer?.once('close', resolve));
    client.destroy();
    await closed;
    gone.resolve();
    looks.mockRestore();
  }
  await waitFor('a place', async () => (await watch(token)).headers['content-type']?.startsWith('text/event-stream') || undefined);
});

it('a user has a bounded number of streams', async () => {
  const { token } = await somebody();
  const open: Stream[] = [];
  for (let stream = 0; stream < 20; stream += 1) open.push(await watch(token));
  const tooMany = await watch(token);
  await waitFor('the refusal', () => tooMany.isOver() || undefined);
  expect(JSON.parse(tooMany.text())).toMatchObject({ code: 429, data: null });
  open[0]?.close();
  await waitFor('a free place', async () => {
    const next = await watch(token);
    return next.headers['content-type']?.startsWith('text/event-stream') || undefined;
  });
});
