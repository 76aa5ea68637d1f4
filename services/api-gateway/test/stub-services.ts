import { AdminServiceDefinition } from '@wharf/proto/admin';
import { AuthServiceDefinition } from '@wharf/proto/auth';
import { DownloaderServiceDefinition } from '@wharf/proto/downloader';
import { FsServiceDefinition } from '@wharf/proto/fs';
import { WriteServiceDefinition } from '@wharf/proto/fs-write';
import { TaskServiceDefinition } from '@wharf/proto/task';
import type { Peers } from '@wharf/service-kit';
import { type Call, createDirectClient, defineRpcService, forAnyone, type InternalTokens, type RpcService } from '@wharf/service-kit';

/** What a service was asked: `auth.Login` and the like. */
export interface Asked {
  readonly rpc: string;
  readonly request: unknown;
  readonly call: Call;
}

/** Services behind the gateway's seam: each RPC answers what a test gave it, else an answer with nothing but defaults. */
export interface StubServices {
  readonly asked: Asked[];
  /** Answers, by `service.rpc`: an answer, or a function that makes it or throws. */
  readonly answers: Map<string, unknown>;
  peers(tokens: InternalTokens): Peers;
}

const DEFINITIONS = {
  auth: AuthServiceDefinition,
  admin: AdminServiceDefinition,
  fs: FsServiceDefinition,
  fsWrites: WriteServiceDefinition,
  downloader: DownloaderServiceDefinition,
  fsTasks: TaskServiceDefinition,
  downloaderTasks: TaskServiceDefinition,
};

export function createStubServices(): StubServices {
  const asked: Asked[] = [];
  const answers = new Map<string, unknown>();
  const answerTo = (rpc: string, request: unknown, call: Call): unknown => {
    asked.push({ rpc, request, call });
    const answer = answers.get(rpc) ?? {};
    return typeof answer === 'function' ? answer(request, call) : answer;
  };
  const serviceOf = (owner: keyof typeof DEFINITIONS): RpcService => {
    const definition = DEFINITIONS[owner];
    const methods = Object.entries(definition.methods).map(([name, method]) => {
      const rpc = `${owner}.${name}`;
      const handle = method.responseStream
        ? async function* (request: unknown, call: Call) {
            yield* [await answerTo(rpc, request, call)].flat();
          }
        : async (request: unknown, call: Call) => answerTo(rpc, request, call);
      return [name, forAnyone(handle)];
    });
    // Handlers of any RPC have one form here; the definition alone knows their types.
    return defineRpcService(definition, Object.fromEntries(methods) as never);
  };
  return {
    asked,
    answers,
    peers(tokens) {
      const client = <Client>(owner: keyof typeof DEFINITIONS) => {
        const service = serviceOf(owner);
        return createDirectClient<Client>(
          DEFINITIONS[owner],
          () => service,
          tokens,
          () => {},
        );
      };
      return {
        auth: client('auth'),
        admin: client('admin'),
        fs: client('fs'),
        fsWrites: client('fsWrites'),
        downloader: client('downloader'),
        fsTasks: client('fsTasks'),
        downloaderTasks: client('downloaderTasks'),
      };
    },
  };
}
