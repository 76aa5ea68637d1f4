import { z } from 'zod';

/**
 * A list whose elements have a shape, for what others write: it ends at its first wrong element, with one issue. A `z.array()` has one for
 * each, which of half a million take a second and hundreds of megabytes.
 */
export function listOf<Element extends z.ZodType>(element: Element) {
  return z.array(z.unknown()).transform((values, context): z.output<Element>[] => {
    const elements: z.output<Element>[] = [];
    for (const [index, value] of values.entries()) {
      const parsed = element.safeParse(value);
      if (!parsed.success) {
        const [issue] = parsed.error.issues;
        context.addIssue({ code: 'custom', message: issue?.message ?? 'wrong', path: [index, ...(issue?.path ?? [])] });
        return z.NEVER;
      }
      elements.push(parsed.data);
    }
    return elements;
  });
}
