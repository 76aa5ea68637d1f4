/** Which scripts may run in threads: those of this build, by the addresses that it gave them. */
const addresses = (globalThis as { trustedTypes?: PolicyMaker }).trustedTypes?.createPolicy('wharf-worker', {
  createScriptURL: (address) => address,
});

/** What TypeScript does not know of browsers yet. */
interface PolicyMaker {
  createPolicy<Policy extends { createScriptURL(address: string): string }>(name: string, policy: Policy): Policy;
}

/** Starts a script of this build in a thread of its own. @param address as an import with `?worker&url` has it */
export const startWorker = (address: string): Worker => new Worker(addresses?.createScriptURL(address) ?? address, { type: 'module' });
