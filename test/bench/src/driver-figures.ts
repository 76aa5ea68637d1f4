import { readFile, writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import type { RemoteResult } from './remote.ts';

/** What `docs/drivers.md` shows of them; committed. */
const FIGURES_FILE = fileURLToPath(new URL('../driver-figures.json', import.meta.url));

/** One line of a driver's figures. */
type Figure = Pick<
  RemoteResult,
  'work' | 'amount' | 'latencyMs' | 'wharfMs' | 'rcloneMs' | 'wharfQuestions' | 'rcloneQuestions' | 'besideMs'
>;

interface DriverFigures {
  readonly server: string;
  readonly rcloneVersion: string;
  /** The day, as `2026-01-31`. */
  readonly measuredOn: string;
  readonly figures: readonly Figure[];
}

/** Replaces the figures of the storages that were measured, and leaves the others. @returns the path of the file */
export async function saveDriverFigures(results: readonly RemoteResult[]): Promise<string> {
  const known: Record<string, DriverFigures> = JSON.parse(await readFile(FIGURES_FILE, 'utf8').catch(() => '{}'));
  for (const { storage, server, rcloneVersion } of results) {
    const figures = results.filter((result) => result.storage === storage).map(figureOf);
    known[storage] = { server, rcloneVersion, measuredOn: new Date().toISOString().slice(0, 10), figures };
  }
  await writeFile(FIGURES_FILE, `${JSON.stringify(known, undefined, 2)}\n`);
  return FIGURES_FILE;
}

function figureOf({ work, amount, latencyMs, wharfMs, rcloneMs, wharfQuestions, rcloneQuestions, besideMs }: RemoteResult): Figure {
  const rounded = (value: number | undefined) => (value === undefined ? undefined : Number(value.toPrecision(3)));
  const times = { wharfMs: rounded(wharfMs) ?? 0, rcloneMs: rounded(rcloneMs), besideMs: rounded(besideMs) };
  return { work, amount, latencyMs, ...times, wharfQuestions, rcloneQuestions };
}
