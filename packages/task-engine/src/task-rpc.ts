import { AppError } from '@wharf/errors';
import { createPace, sliceOf } from '@wharf/pace';
import { type ListTasksRequest, type ListTasksResponse, TaskServiceDefinition } from '@wharf/proto/task';
import { ROLE } from '@wharf/rights';
import {
  type Call,
  createBehindOthers,
  createOneByOne,
  defineRpcService,
  forUsers,
  type LoginOfNow,
  type RpcService,
  userOf,
} from '@wharf/service-kit';
import { TASK_ACTIONS, type TaskAction, type TaskScope } from './task-control.ts';
import type { TaskEngine } from './task-engine.ts';
import { DONE_STATES, TASK_STATE } from './task-state.ts';
import { type WireTask, wireTask } from './wire-task.ts';

/** Tasks in one message of a list. */
const CHUNK = 500;
/** Lists that go on: each holds a message and what the store reads ahead, some megabytes where names and errors are long. */
const LISTS = 4;
/** Ids that one call may name. */
const MAX_IDS = 10_000;

/** The TaskService of a service, over its engine. @param loginOfNow of a call that may wait for others, or take long */
export function createTaskRpc(engine: TaskEngine, loginOfNow: (call: Call) => Promise<LoginOfNow>): RpcService {
  const scopeToChange = async (call: Call): Promise<TaskScope> => ({ ...scopeOf(call), mayStill: await loginOfNow(call) });
  return defineRpcService(TaskServiceDefinition, {
    listTasks: forUsers(createListing(engine, loginOfNow)),
    getTask: forUsers(async ({ list, id }, call) => ({ task: wireTask(await engine.control.get(id, list, scopeOf(call))) })),
    controlTasks: forUsers(async ({ list, action, ids }, call) => {
      if (ids.length > MAX_IDS) throw new AppError('INVALID_ARGUMENT', `at most ${MAX_IDS} tasks at a time`);
      const failed = await engine.apply(actionOf(action), ids, list, await scopeToChange(call), call.signal);
      return { errors: Object.fromEntries([...failed].map(([id, error]) => [id, AppError.from(error).message])) };
    }),
    clearTasks: forUsers(async ({ list, only_succeeded }, call) => {
      await engine.clear(list, only_succeeded ? [TASK_STATE.succeeded] : DONE_STATES, await scopeToChange(call));
      return {};
    }),
    retryFailedTasks: forUsers(async ({ list }, call) => {
      await engine.retryFailed(list, await scopeToChange(call));
      return {};
    }),
  });
}

/** Lists a few at a time, until their callers have all of them: what they have of it takes room, too. What is one message, as most lists are, does not wait for long ones. */
function createListing(engine: TaskEngine, loginOfNow: (call: Call) => Promise<LoginOfNow>) {
  const read = async function* ({ list, done, page, per_page }: ListTasksRequest, call: Call): AsyncGenerator<ListTasksResponse> {
    const slice = sliceOf(page, per_page);
    if (!Number.isSafeInteger(slice.skip)) return;
    let chunk: WireTask[] = [];
    const pace = createPace(call.signal);
    for await (const record of engine.control.list({ list, done, ...slice }, scopeOf(call))) {
      await pace.step();
      chunk.push(wireTask(record));
      if (chunk.length < CHUNK) continue;
      yield { tasks: chunk };
      chunk = [];
    }
    if (chunk.length > 0) yield { tasks: chunk };
  };
  const behindOthers = createBehindOthers(loginOfNow);
  const [short, long] = [behindOthers.stream(createOneByOne(LISTS), read), behindOthers.stream(createOneByOne(LISTS), read)];
  return async function* (request: ListTasksRequest, call: Call): AsyncGenerator<ListTasksResponse> {
    const isWhole = request.per_page < 1;
    if (isWhole || request.per_page <= CHUNK) {
      const answers = await Array.fromAsync(short(isWhole ? { ...request, page: 1, per_page: CHUNK } : request, call));
      if (!isWhole || (answers[0]?.tasks.length ?? 0) < CHUNK) return yield* answers;
    }
    yield* long(request, call);
  };
}

/** Whose tasks a caller may see and control. @throws AppError PERMISSION_DENIED: the guest's none */
function scopeOf(call: Call): Pick<TaskScope, 'creatorId'> {
  const { id, role } = userOf(call);
  if (role === ROLE.guest) throw new AppError('PERMISSION_DENIED', 'You are a guest');
  return { creatorId: role === ROLE.admin ? undefined : id };
}

function actionOf(text: string): TaskAction {
  const action = TASK_ACTIONS.find((known) => known === text);
  if (!action) throw new AppError('INVALID_ARGUMENT', `there is no action ${text}`);
  return action;
}
