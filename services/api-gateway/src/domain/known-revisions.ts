import type { Peers, Revisions } from '@wharf/service-kit';

/** The newest revisions of the accounts and of the configuration that were in answers. */
export interface KnownRevisions {
  /** What later calls carry, so that callers see their own writes. */
  current(): Revisions;
  /** The same peers; every revision in an answer of auth or admin is noted. */
  watch(peers: Peers): Peers;
}

/** @param onRaise is called at once when an answer has a newer revision, before the answer reaches its caller. */
export function createKnownRevisions(onRaise: (owner: keyof Revisions) => void): KnownRevisions {
  let known: Revisions = { auth: 0, admin: 0 };
  const note = (owner: keyof Revisions, answer: unknown) => {
    if (typeof answer !== 'object' || answer === null || !('revision' in answer)) return;
    const { revision } = answer;
    if (typeof revision !== 'number' || revision <= known[owner]) return;
    known = { ...known, [owner]: revision };
    onRaise(owner);
  };
  const watched = <Client extends object>(owner: keyof Revisions, client: Client): Client =>
    new Proxy(client, {
      get(target, name) {
        const method: unknown = Reflect.get(target, name);
        if (typeof method !== 'function') return method;
        return (...parameters: unknown[]) => {
          const answer: unknown = Reflect.apply(method, target, parameters);
          if (!(answer instanceof Promise)) return answer;
          return answer.then((message: unknown) => {
            note(owner, message);
            return message;
          });
        };
      },
    });
  return {
    current: () => known,
    watch: (peers) => ({ ...peers, auth: watched('auth', peers.auth), admin: watched('admin', peers.admin) }),
  };
}
