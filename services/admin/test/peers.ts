import { AppError } from '@wharf/errors';
import type { Models, StorageRecord } from '@wharf/models';
import type { User } from '@wharf/proto/auth';
import { deriveKeys, Secret, unseal } from '@wharf/service-kit';

/** A driver of folders as fs describes it, with an item of each type. */
export const FOLDER_DRIVER = {
  config: { name: 'Local' },
  common: [
    { name: 'mount_path', type: 'string', default: '' },
    { name: 'webdav_policy', type: 'select', default: 'native_proxy' },
    { name: 'enable_sign', type: 'bool', default: 'false' },
  ],
  additional: [
    { name: 'where', type: 'string', default: '/' },
    { name: 'shown', type: 'bool', default: 'true' },
    { name: 'parallel', type: 'number', default: '16' },
    { name: 'mode', type: 'string', default: '777' },
  ],
  host_folder_items: ['where'],
};

/**
 * Stands for fs at the seam between the services: it reads the stored configuration as fs does, and "starts" a storage unless its
 * addition says why it fails. Starting adds a key to the addition, as drivers do that normalise it.
 */
export class FakeFs {
  readonly drivers = ['Local', 'Memory'];
  /** Mount paths of what runs, by id. */
  readonly mounted = new Map<number, string>();
  /** Ids and admin revisions of all reloads. */
  readonly reloads: Array<{ id: number; revision: number }> = [];
  isDown = false;
  /** So many calls are refused, because it is starting. */
  asksUntilUp = 0;
  isIndexing = false;
  /** Waited for before each answer but those of starts. */
  beforeAnswer: () => Promise<void> = async () => {};
  /** Waited for before each start. */
  gate: Promise<void> = Promise.resolve();
  readonly #models: Models;
  readonly #key: Buffer;

  constructor(models: Models, secret: string) {
    this.#models = models;
    this.#key = deriveKeys(new Secret(secret)).atRest;
  }

  requireUp(): void {
    if (this.asksUntilUp > 0) {
      this.asksUntilUp -= 1;
      throw new AppError('STORAGE_UNAVAILABLE', 'a service is starting');
    }
    if (this.isDown) throw new AppError('STORAGE_UNAVAILABLE', 'a service cannot be reached');
  }

  async reload(id: number, revision: number): Promise<{ status: string; addition: string }> {
    this.requireUp();
    this.reloads.push({ id, revision });
    const record = await this.#models.storages.findById(id).lean<StorageRecord>();
    await this.gate;
    this.mounted.delete(id);
    if (!record) return { status: '', addition: '' };
    if (record.disabled) return { status: 'disabled', addition: '' };
    const given: unknown = JSON.parse(unseal(this.#key, record.addition));
    const addition = { ...(given as Record<string, unknown>), normalised: true };
    if ('fail' in addition) return { status: String(addition.fail), addition: JSON.stringify(addition) };
    this.mounted.set(id, record.mount_path);
    return { status: 'work', addition: JSON.stringify(addition) };
  }
}

/** Stands for auth at the seam: it keeps the permanent token, and users. */
export class FakeAuth {
  token = 'wharf-the-token-of-this-test';
  users: Array<Partial<User>> = [];
  /** Waited for before each change of a user. */
  beforeUpdate: () => Promise<void> = async () => {};
  /** Makes a user, and answers the id: none. */
  create: (user: Partial<User>) => Promise<number> = async () => {
    throw new AppError('RECORD_EXISTS', 'there is such a user');
  };

  replace(token: string): void {
    if (token.length < 16) throw new AppError('INVALID_ARGUMENT', 'a permanent token has 16 characters at least');
    this.token = token;
  }
}

/** Stands for the downloader at the seam: its tools answer their version, or why they do not. */
export class FakeDownloader {
  /** What each tool answers; an error is thrown. */
  readonly answers = new Map<string, string | AppError>();
  readonly asked: Array<{ tool: string; url: string; secret: string }> = [];
  /** Waited for before each answer. */
  beforeAnswer: () => Promise<void> = async () => {};

  async probe(request: { tool: string; url: string; secret: string }): Promise<string> {
    this.asked.push(request);
    await this.beforeAnswer();
    const answer = this.answers.get(request.tool) ?? new AppError('STORAGE_UNAVAILABLE', 'host refuses connections');
    if (typeof answer !== 'string') throw answer;
    return answer;
  }
}
