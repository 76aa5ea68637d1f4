import fs from 'node:fs';
import path from 'node:path';
import { onTestFinished, vi } from 'vitest';
import type { CallOptions } from '../../src/driver-contract/storage-driver.ts';
import type { LocalSettings } from '../../src/drivers/local/config.ts';
import { createDiskOperations } from '../../src/drivers/local/disk-operations.ts';
import type { Disk } from '../../src/drivers/local/disk-pool.ts';
import { LocalDriver } from '../../src/drivers/local/driver.ts';
import { toAppError } from '../../src/drivers/local/errors.ts';
import { createIoSlots } from '../../src/drivers/local/io-slots.ts';

/** Calls whose first argument is a place, and those with a second one. */
const WITH_PLACE = [
  'chmodSync',
  'lstatSync',
  'mkdirSync',
  'openSync',
  'readdirSync',
  'readlinkSync',
  'rmdirSync',
  'statSync',
  'unlinkSync',
] as const;
const WITH_TARGET = ['copyFileSync', 'linkSync', 'renameSync', 'symlinkSync'] as const;

const { lstatSync, readdirSync } = fs;

/**
 * Has the system calls of this process take every spelling of what is in a folder, as a disk does that keeps names and folds them (case,
 * NFC and NFD). What this disk made itself cannot have two entries that it takes for one. Until the test has ended.
 */
export function foldNames(root: string): void {
  for (const name of WITH_PLACE) {
    const real = fs[name] as (...values: unknown[]) => unknown;
    vi.spyOn(fs, name).mockImplementation(((place: string | Buffer, ...rest: unknown[]) => real(resolved(root, place), ...rest)) as never);
  }
  for (const name of WITH_TARGET) {
    const real = fs[name] as (...values: unknown[]) => unknown;
    const spied = (from: string | Buffer, to: string | Buffer, ...rest: unknown[]) => {
      const [source, target] = [name === 'symlinkSync' ? from : resolved(root, from), resolved(root, to)];
      // An entry may get another spelling of its own name.
      const isItself = name === 'renameSync' && lstatSync(source).ino === lstatSync(target, { throwIfNoEntry: false })?.ino;
      return real(source, isItself ? path.join(path.dirname(String(target)), path.basename(String(to))) : target, ...rest);
    };
    vi.spyOn(fs, name).mockImplementation(spied as never);
  }
  onTestFinished(() => void vi.restoreAllMocks());
}

/** Local on threads has its own system calls: here its disk operations run on this one. */
export async function openHere(settings: LocalSettings, options: CallOptions): Promise<LocalDriver> {
  const operations = createDiskOperations(settings);
  const never = new AbortController().signal;
  const disk: Disk = {
    slots: createIoSlots(),
    start: () => operations.findFacts(never),
    async call(operation, values, signal = never) {
      try {
        const run = operations[operation] as (signal: AbortSignal, ...values: readonly unknown[]) => unknown;
        return (await run(signal, ...values)) as never;
      } catch (error) {
        throw toAppError(error);
      }
    },
    close: async () => undefined,
  };
  return LocalDriver.open(settings, options, disk);
}

function resolved(root: string, place: string | Buffer): string | Buffer {
  const text = String(place);
  const [held] = /^\/proc\/self\/fd\/\d+/.exec(text) ?? [];
  const base = held ?? (text.startsWith(`${root}/`) ? root : undefined);
  if (base === undefined) return place;
  let at = base;
  for (const segment of text.slice(base.length).split('/')) {
    if (segment !== '') at += `/${spelled(at, segment)}`;
  }
  return text.endsWith('/') ? `${at}/` : at;
}

function spelled(folder: string, segment: string): string {
  if (segment === '.' || lstatSync(`${folder}/${segment}`, { throwIfNoEntry: false }) !== undefined) return segment;
  try {
    return readdirSync(`${folder}/`).find((name) => fold(name) === fold(segment)) ?? segment;
  } catch {
    return segment;
  }
}

const fold = (name: string) => name.normalize('NFC').toLowerCase();
