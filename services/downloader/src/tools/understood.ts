import { AppError } from '@wharf/errors';
import type { z } from 'zod';

/**
 * What a tool answered, in the form that was expected.
 *
 * @param tool as people know it, @param answer undefined for what is no JSON
 * @throws AppError CONTENT_CORRUPT: it has another form
 */
export function understood<Shape extends z.ZodType>(tool: string, shape: Shape, answer: unknown): z.output<Shape> {
  const parsed = shape.safeParse(answer);
  if (parsed.success) return parsed.data;
  throw new AppError('CONTENT_CORRUPT', `${tool} gave an answer that is not understood`, { cause: parsed.error });
}
