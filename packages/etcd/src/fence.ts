import type { Fenced } from "@leasehold/core/provider";
import type { ElectionKeys } from "./keys.ts";
import { createdAt, type EtcdCompare } from "./wire.ts";

/**
 * Returns the conditions under which a leadership lasts: that its key is there since its term, and that no note ends it. The termId
 * is the hex of the lease, by which the key is named.
 */
export function fenceOf(keys: ElectionKeys, { term, termId }: Fenced): readonly EtcdCompare[] {
  return [createdAt(keys.candidate(termId), term), createdAt(keys.note(termId), 0)];
}
