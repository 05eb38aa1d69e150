import type { Fenced } from "@leasehold/core/provider";
import type { ElectionKeys } from "./keys.ts";
import { createdAt, type EtcdCompare } from "./wire.ts";

/**
 * Returns the conditions under which a leadership lasts: its key was created in its term, and no note ends it. The termId is the
 * hex of the lease, which is the last part of the key.
 */
export function fenceOf(keys: ElectionKeys, { term, termId }: Fenced): readonly EtcdCompare[] {
  return [createdAt(keys.candidate(termId), term), createdAt(keys.note(termId), 0)];
}
