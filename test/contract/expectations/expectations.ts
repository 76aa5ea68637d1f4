import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Provider } from '../support/contracts.ts';
import type { Caller, RecordedCall } from './recorder.ts';
import { CLAIMS, claimsOf, commonOf, type Given, requestOf, type Template } from './template.ts';

/** What would make the file big is no example. */
const MOST_REQUEST_CHARACTERS = 2_000;
/** A line for each call, in the order of the tour. */
const FILE = join(import.meta.dirname, 'recorded.jsonl');

/** What a caller asks of a service, and what it counts on. */
export interface Expectation {
  readonly caller: Caller;
  readonly provider: Provider;
  readonly client: string;
  readonly method: string;
  readonly identity: Template;
  readonly request: Template;
  /** What every answer has, or the code of its error. */
  readonly answer: { readonly ok: Template } | { readonly error: string };
  /** The answer is another one each time: the call is made, and whatever comes will do. */
  readonly isLoose?: boolean;
}

/** One tour: its calls, and what it was given that another tour gets otherwise. */
export interface Tour {
  readonly calls: readonly RecordedCall[];
  readonly given: Given;
}

export async function readExpectations(): Promise<readonly Expectation[]> {
  const text = await readFile(FILE, 'utf8');
  return text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line));
}

export async function writeExpectations(expectations: readonly Expectation[]): Promise<void> {
  await writeFile(FILE, expectations.map((one) => `${JSON.stringify(one)}\n`).join(''));
}

/**
 * What two tours have in common. A call that is made in the same way as one before, and gets the same answer, stands there once.
 *
 * @returns also the calls that are left out, for their requests are too big
 */
export function expectationsOf(one: Tour, other: Tour): { expectations: readonly Expectation[]; left: ReadonlySet<string> } {
  const pairs = pairsOf(one.calls, other.calls);
  const left = new Set<string>();
  const found: { expectation: Expectation; number: number }[] = [];
  for (const [number, [first, second]] of pairs.entries()) {
    const { caller, provider, client, method } = first;
    const answer = answerOf(first, second);
    if (answer === undefined) continue;
    const sourceOf = (value: unknown, same: unknown) => findSource(found, pairs, value, same);
    const again = (value: unknown, same: unknown) => requestOf(value, same, [one.given, other.given], sourceOf);
    const [identity, request] = [again(first.identity, second.identity), again(first.request, second.request)];
    if (JSON.stringify(request).length > MOST_REQUEST_CHARACTERS) left.add(`${caller} -> ${client}.${method}`);
    else found.push({ expectation: { caller, provider, client, method, identity, request, answer }, number });
  }
  return { expectations: numbered(found), left };
}

/** The calls that both tours made: the first one of a kind with the first one, and so on. In the order of the first tour. */
function pairsOf(one: readonly RecordedCall[], other: readonly RecordedCall[]): [RecordedCall, RecordedCall][] {
  const kindOf = ({ caller, client, method }: RecordedCall) => `${caller} ${client}.${method}`;
  const others = Map.groupBy(other, kindOf);
  return one.flatMap((call): [RecordedCall, RecordedCall][] => {
    const same = others.get(kindOf(call))?.shift();
    return same ? [[call, same]] : [];
  });
}

function answerOf({ answer: one }: RecordedCall, { answer: other }: RecordedCall): Expectation['answer'] | undefined {
  if (one === undefined || other === undefined) return undefined;
  if ('ok' in one && 'ok' in other) return { ok: commonOf(one.ok, other.ok) ?? null };
  return 'error' in one && 'error' in other && one.error === other.error ? { error: one.error } : undefined;
}

function findSource(
  kept: readonly { readonly number: number }[],
  pairs: readonly [RecordedCall, RecordedCall][],
  value: unknown,
  same: unknown,
): readonly (string | number)[] | undefined {
  for (const { number } of kept) {
    const [one, other] = pairs[number]?.map(({ answer }) => (answer && 'ok' in answer ? answer.ok : undefined)) ?? [];
    const way = wayTo(one, other, value, same);
    if (way) return [number, ...way];
  }
  return undefined;
}

/** Where the one answer has the one value and the other answer the other. */
function wayTo(one: unknown, other: unknown, value: unknown, same: unknown): (string | number)[] | undefined {
  if (one === value && other === same) return [];
  const [claims, others] = [claimsOf(one), claimsOf(other)];
  if (claims && others) {
    const way = wayTo(claims, others, value, same);
    return way && [CLAIMS, ...way];
  }
  if (typeof one !== 'object' || one === null || typeof other !== 'object' || other === null || one instanceof Uint8Array) return undefined;
  for (const key of Object.keys(one)) {
    const way = wayTo(Reflect.get(one, key), Reflect.get(other, key), value, same);
    if (way) return [key, ...way];
  }
  return undefined;
}

/** Each once, and numbered as they stand: what refers to another call gets its new number. */
function numbered(found: readonly { expectation: Expectation; number: number }[]): readonly Expectation[] {
  const places = new Map<number, number>();
  const texts = new Map<string, number>();
  const kept: Expectation[] = [];
  for (const { expectation, number } of found) {
    const text = JSON.stringify(expectation).replaceAll(/"\$answer":\[(\d+)/g, (_, old) => `"$answer":[${places.get(Number(old))}`);
    const place = texts.get(text) ?? kept.push(JSON.parse(text)) - 1;
    texts.set(text, place);
    places.set(number, place);
  }
  return kept;
}
