import type { MountPath } from '@wharf/paths';

/** The folder of the server that is the storage. */
export class RemoteRoot {
  readonly #place: string;

  constructor(place: string) {
    this.#place = place;
  }

  /** What the server calls a path. */
  place(path: MountPath): string {
    if (path === '/') return this.#place;
    return this.#place === '/' ? path : this.#place + path;
  }
}
