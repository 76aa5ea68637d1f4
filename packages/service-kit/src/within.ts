import { AppError } from '@wharf/errors';

/**
 * The answer of a promise, when it comes in time. A later answer or failure is ignored. @throws AppError DEADLINE_EXCEEDED with the message
 */
export async function within<Answer>(ms: number, answer: Promise<Answer>, message: string): Promise<Answer> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new AppError('DEADLINE_EXCEEDED', message)), ms);
  });
  try {
    return await Promise.race([answer, late]);
  } finally {
    clearTimeout(timer);
  }
}
