import { createWriteStream } from 'node:fs';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { type Api, describeContent, download, type FaultProxy, generateContent, startFaultProxy, waitFor } from '@wharf/harness';
import { rawPath } from './files.ts';
import { type StubbornUpload, uploadByParts, uploadByTus } from './stubborn-uploads.ts';

/** A Wharf that uploads go to while it is damaged. */
export interface UploadSubject {
  /** Of each gateway: a connection leads to one of them, in turns. */
  readonly gateways: readonly string[];
  readonly admin: Api;
  /** Folders of the tree that are uploaded to, by the kind of their storage. */
  readonly places: Readonly<Record<string, string>>;
  /** What is done to it, in this order, at even distances of the way. */
  readonly faults: readonly Fault[];
}

/** Something that happens while bytes are under way. */
export type Fault = readonly [name: string, make: () => Promise<void>];

/** The file that is sent. */
export interface UploadSource {
  /** On this machine. */
  readonly path: string;
  readonly sizeBytes: number;
  readonly sha256: string;
}

const WAYS = { tus: uploadByTus, parts: uploadByParts } as const;
export type UploadWay = keyof typeof WAYS;
export const UPLOAD_WAYS = ['tus', 'parts'] as const satisfies readonly UploadWay[];

export interface UploadChaosOptions {
  readonly source: UploadSource;
  /** By which protocols, all at once. */
  readonly ways: readonly UploadWay[];
  /** All connections break so often for a minute, in milliseconds; 0: as often as `faults` say. */
  readonly breakEveryMs: number;
  /** Whether what arrived is removed once it was looked at. */
  readonly isRemoved?: boolean;
  readonly tell: (text: string) => void;
}

export interface UploadReport {
  readonly name: string;
  readonly isIdentical: boolean;
  /** Of the client, with heads of requests. */
  readonly sentBytes: number;
  /** The file, and once for each cut what may be under way then. */
  readonly allowedBytes: number;
}

/** What of a file is no content: heads of requests, beginnings and looks. */
const FRAMING = 0.02;
const FRAMING_BYTES = 1024 * 1024;
const BREAKING_MS = 60_000;
const DONE_WITHIN_MS = 3_600_000;

/** The names of faults that happen to the clients, whatever they upload to. */
export const CLIENT_FAULTS = { lines: 'all connections break', clients: 'the clients are killed' } as const;

/** Makes a file to be sent. */
export async function makeUploadSource(dir: string, sizeBytes: number): Promise<UploadSource> {
  const path = join(dir, `${sizeBytes}.bin`);
  await pipeline(generateContent('chaos', sizeBytes), createWriteStream(path));
  return { path, ...describeContent('chaos', sizeBytes) };
}

/** Uploads one file to each place by each protocol at once while the subject is damaged, and looks at what arrived and what was sent for it. */
export async function runUploadChaos(
  subject: UploadSubject,
  { source, ways, breakEveryMs, isRemoved = false, tell }: UploadChaosOptions,
): Promise<UploadReport[]> {
  const { sizeBytes, sha256 } = source;
  const to = subject.gateways.map((gateway) => ({ host: '127.0.0.1', port: Number(new URL(gateway).port) }));
  const running: { name: string; folder: string; path: string; proxy: FaultProxy; upload: StubbornUpload }[] = [];
  let cuts = 0;
  let breaking: NodeJS.Timeout | undefined;
  let calm: NodeJS.Timeout | undefined;
  const breakLines = () => {
    cuts += 1;
    for (const { proxy } of running) proxy.breakAll();
  };
  try {
    for (const [kind, folder] of Object.entries(subject.places))
      for (const how of ways) {
        const proxy = await startFaultProxy({ to });
        const path = `${folder}/by-${how}.bin`;
        const upload = WAYS[how]({
          source: source.path,
          sizeBytes,
          sha256,
          path,
          base: `http://${proxy.host}:${proxy.port}`,
          caller: subject.admin,
        });
        upload.done.catch(() => undefined);
        running.push({ name: `${kind} by ${how}`, folder, path, proxy, upload });
      }
    const sentBytes = () => running.reduce((sum, { proxy }) => sum + proxy.bytesToServer(), 0);
    const allDone = Promise.all(running.map(({ upload }) => upload.done));
    let isDone = false;
    let failure: { readonly error: unknown } | undefined;
    allDone.then(
      () => (isDone = true),
      (error: unknown) => (failure = { error }),
    );
    /** A client that has given up ends it all: nothing more would be learned. */
    const until = async (what: string, isSo: () => boolean, options: { withinMs: number; everyMs?: number }) => {
      await waitFor(what, () => failure !== undefined || isSo(), options);
      if (failure) throw failure.error;
    };
    await until('all to begin', () => running.every(({ upload }) => upload.hasBegun()), { withinMs: 60_000 });
    breaking = breakEveryMs > 0 ? setInterval(breakLines, breakEveryMs) : undefined;
    calm = setTimeout(() => clearInterval(breaking), BREAKING_MS);
    const makers: Record<string, () => void> = {
      [CLIENT_FAULTS.lines]: breakLines,
      [CLIENT_FAULTS.clients]: () => {
        cuts += 1;
        for (const { upload } of running) upload.restart();
      },
    };
    const step = (sizeBytes * running.length) / (subject.faults.length + 1);
    for (const [index, [name, make]] of subject.faults.entries()) {
      await until(`the way to "${name}"`, () => isDone || sentBytes() > step * (index + 1), { withinMs: DONE_WITHIN_MS, everyMs: 5 });
      tell(`${name}, when ${(sentBytes() / 2 ** 20).toFixed(0)} MiB were sent${isDone ? ' and all had arrived' : ''}`);
      const ofClients = makers[name];
      if (ofClients) ofClients();
      else {
        cuts += 1;
        await make();
      }
    }
    await allDone;
    const reports: UploadReport[] = [];
    for (const { name, folder, path, proxy, upload } of running) {
      const sent = proxy.bytesToServer();
      const got = await download(subject.gateways[0] ?? '', { path: await rawPath(subject.admin, path), idleTimeoutMs: DONE_WITHIN_MS });
      reports.push({
        name,
        isIdentical: got.sha256 === sha256 && got.sizeBytes === sizeBytes,
        sentBytes: sent,
        allowedBytes: Math.ceil(sizeBytes * (1 + FRAMING)) + FRAMING_BYTES + cuts * upload.atOnce * upload.pieceBytes(),
      });
      if (isRemoved) await subject.admin.call('/api/fs/remove', { dir: folder, names: [path.slice(folder.length + 1)] });
    }
    return reports;
  } finally {
    clearInterval(breaking);
    clearTimeout(calm);
    for (const { proxy } of running) await proxy.stop();
  }
}
