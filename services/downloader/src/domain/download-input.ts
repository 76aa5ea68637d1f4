import { parseVirtualPath } from '@wharf/paths';
import { z } from 'zod';

/** The tool that is part of Wharf. */
export const BUILT_IN_TOOL = 'SimpleHttp';

/** What becomes of a temporary file (docs/api-family.md#delete_policy); other texts count as `delete_never`. */
export const DELETE_POLICIES = ['delete_on_upload_succeed', 'delete_on_upload_failed', 'delete_never', 'delete_always'] as const;
export type DeletePolicy = (typeof DELETE_POLICIES)[number];

/** A task of the list `offline_download`. */
export const downloadInput = z.object({
  /** Sealed: it may have a password in it. */
  url: z.string(),
  tool: z.string(),
  /** Of the whole tree. */
  directory: z.string().transform(parseVirtualPath),
  /** The storage that covers it, and what it is called in there. */
  mountPath: z.string(),
  innerPath: z.string(),
  deletePolicy: z.enum(DELETE_POLICIES),
  /** The digests that the file must have, as given by the user who asked for it. */
  digests: z.record(z.string(), z.string()).default({}),
});
export type DownloadInput = z.output<typeof downloadInput>;

export function deletePolicyOf(text: string): DeletePolicy {
  return DELETE_POLICIES.find((policy) => policy === text) ?? 'delete_never';
}

/** Whether a temporary file goes after its upload. */
export function isDeletedAfter(policy: DeletePolicy, outcome: 'succeeded' | 'failed'): boolean {
  if (policy === 'delete_always') return true;
  return policy === (outcome === 'succeeded' ? 'delete_on_upload_succeed' : 'delete_on_upload_failed');
}
