import { AppError } from '@wharf/errors';
import { z } from 'zod';
import { list as listOf, pageOf, paging, text } from '../fields.ts';
import { createJsonList } from '../json-list.ts';
import { type Access, AnswerAsJson, type CallerContext, nothing, type Route, route } from '../route.ts';
import { nothingBack, showTask, taskShape } from '../shapes.ts';

/** The lists of tasks, by the service that has them. */
const LISTS = [
  ['upload', 'fsTasks'],
  ['copy', 'fsTasks'],
  ['move', 'fsTasks'],
  ['decompress', 'fsTasks'],
  ['decompress_upload', 'fsTasks'],
  ['offline_download', 'downloaderTasks'],
  ['offline_download_transfer', 'downloaderTasks'],
] as const;

const NOT_FOUND = 'task not found';

const ONE_TASK = {
  cancel: 'Ends a task that has not ended.',
  delete: 'Forgets a task; one that runs is cancelled.',
  retry: 'Queues a task again.',
  pause: 'Holds a task that has not ended.',
  resume: 'Lets a task go on that is held.',
} as const;

/** The task routes of one list under one prefix. Users reach their own tasks, the admin reaches all. The owning service checks that. */
function taskRoutesUnder(prefix: `/api/${string}`, [list, owner]: (typeof LISTS)[number], access: Exclude<Access, 'public'>): Route[] {
  const tasksOf = ({ peers }: CallerContext) => peers[owner];
  const path = (verb: string) => `${prefix}/${list}/${verb}` as const;
  const tid = z.object({ tid: text() });

  const control = async (context: CallerContext, action: keyof typeof ONE_TASK, ids: string[]) =>
    (await tasksOf(context).controlTasks({ list, action, ids }, context.options)).errors;

  return [
    ...(['undone', 'done'] as const).map((verb) =>
      route({
        methods: 'any',
        path: path(verb),
        access,
        summary: verb === 'done' ? 'The tasks that ended, the newest first.' : 'The tasks that have not ended, the newest first.',
        takes: 'query',
        input: z.object(paging),
        answer: z.array(taskShape),
        async call(context, input) {
          const tasks = createJsonList(context.hold);
          const chunks = tasksOf(context).listTasks({ list, done: verb === 'done', ...pageOf(input) }, context.options);
          for await (const chunk of chunks) tasks.add(chunk.tasks.map(showTask));
          return new AnswerAsJson(tasks.pieces());
        },
      }),
    ),
    route({
      methods: 'any',
      path: path('info'),
      access,
      summary: 'One task.',
      takes: 'query',
      input: tid,
      answer: taskShape,
      async call(context, input) {
        const { task } = await tasksOf(context).getTask({ list, id: input.tid }, context.options);
        if (!task) throw new AppError('TASK_NOT_FOUND', NOT_FOUND);
        return showTask(task);
      },
    }),
    ...(['cancel', 'delete', 'retry', 'pause', 'resume'] as const).map((action) =>
      route({
        methods: ['POST'],
        path: path(action),
        access,
        summary: ONE_TASK[action],
        takes: 'query',
        input: tid,
        answer: nothingBack,
        async call(context, input) {
          const errors = await control(context, action, [input.tid]);
          const problem = errors[input.tid];
          if (problem === undefined) return null;
          // What came over gRPC has no `__proto__` of its own, and every object has one.
          throw problem === NOT_FOUND || !Object.hasOwn(errors, input.tid)
            ? new AppError('TASK_NOT_FOUND', NOT_FOUND)
            : new AppError('FAILED_PRECONDITION', problem);
        },
      }),
    ),
    ...(['cancel', 'delete', 'retry'] as const).map((action) =>
      route({
        methods: ['POST'],
        path: path(`${action}_some`),
        access,
        summary: 'Acts on several tasks and answers the errors of those that failed, by id.',
        takes: 'body',
        input: listOf(z.string()),
        refusal: 'invalid request format',
        answer: z.record(z.string(), z.string()),
        call: (context, ids) => control(context, action, ids),
      }),
    ),
    ...(['clear_done', 'clear_succeeded'] as const).map((verb) =>
      route({
        methods: ['POST'],
        path: path(verb),
        access,
        summary: verb === 'clear_done' ? 'Forgets the tasks that ended.' : 'Forgets the tasks that succeeded.',
        takes: 'query',
        input: nothing,
        answer: nothingBack,
        async call(context) {
          await tasksOf(context).clearTasks({ list, only_succeeded: verb === 'clear_succeeded' }, context.options);
          return null;
        },
      }),
    ),
    route({
      methods: ['POST'],
      path: path('retry_failed'),
      access,
      summary: 'Queues the tasks again that failed.',
      takes: 'query',
      input: nothing,
      answer: nothingBack,
      async call(context) {
        await tasksOf(context).retryFailedTasks({ list }, context.options);
        return null;
      },
    }),
  ];
}

export const taskRoutes: readonly Route[] = LISTS.flatMap((list) => [
  ...taskRoutesUnder('/api/task', list, 'user'),
  ...taskRoutesUnder('/api/admin/task', list, 'admin'),
]);
