import { z } from 'zod';
import { MAX_ELEMENTS } from './decode-input.ts';
import { requireBounded } from './parse-json.ts';

/** A text that may be left out; it is then empty. */
export const text = () => z.string().default('');
/** A text that must be there and not be empty. */
export const requiredText = () => z.string().min(1);
/** A text that a service reads as JSON; within the bounds of JSON in a body. */
export const jsonText = () => z.string().superRefine((value) => void requireBounded(Buffer.from(value)));
export const flag = (absent = false) => z.boolean().default(absent);
/** A whole number that JSON and JavaScript both hold exactly. */
export const integer = (absent = 0) => z.int().default(absent);
/** A whole number of 32 bits with a sign, as the services keep it. */
export const int32 = (absent = 0) => z.int32().default(absent);
/** A list; every list of an input is made by this. */
export const list = <Element extends z.ZodType>(element: Element) =>
  z.array(element).max(MAX_ELEMENTS, `no more than ${MAX_ELEMENTS} at once`);
export const texts = () => list(z.string()).default([]);
/** Names of entries, at least one. */
export const names = () => texts().refine((given) => given.length > 0, 'Empty file names');
/** The id of a record: a number, or its digits as existing clients send it in queries. */
export const id = () =>
  z.union([
    z.int().min(0),
    z
      .string()
      .regex(/^\d{1,15}$/)
      .transform(Number),
  ]);

export const idInput = z.object({ id: id() });
/** Pages count from 1; without per_page everything is on the first. */
export const paging = { page: integer(1), per_page: integer() };

const MAX_INT32 = 2 ** 31 - 1;

/** The page as messages to the services hold it: at least 1, and 0 entries per page for all of them. */
export function pageOf(input: { page: number; per_page: number }): { page: number; per_page: number } {
  const within = (value: number, least: number) => Math.min(Math.max(value, least), MAX_INT32);
  return { page: within(input.page, 1), per_page: within(input.per_page, 0) };
}
