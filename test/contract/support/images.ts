import { ensureBaseImage, ensureDocumentDbImage, ensurePackageImage, isMissing, type Missing, startContainerEngine } from '@wharf/harness';

/** What containers run beside our own images. */
export interface Images {
  /** The engine's client. */
  readonly docker: string;
  readonly base: string;
  readonly store: { readonly image: string; readonly command: readonly string[] };
  readonly nats: string;
}

/** @throws when one cannot be had: the runner has looked for the engine before */
export async function prepareImages(): Promise<Images> {
  const engine = present(await startContainerEngine());
  const base = present(await ensureBaseImage(engine));
  const store = present(await ensureDocumentDbImage(engine));
  return { docker: engine.docker, base, store, nats: present(await ensurePackageImage(engine, base, 'nats-server')) };
}

/** What was found. @throws why it is missing */
export function present<T extends object | string>(found: T): Exclude<T, Missing> {
  if (typeof found === 'object' && isMissing(found)) throw new Error(found.missing);
  return found as Exclude<T, Missing>;
}

/** The image of a service of Compose, such as `gateway-1`, by default that of the present sources. */
export function imageOf(service: string, tag = 'test'): string {
  const [name = ''] = service.split(/-\d+$/);
  return `wharf-${name === 'gateway' ? 'api-gateway' : name}:${tag}`;
}
