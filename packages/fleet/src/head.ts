// The value of the head. The coordinator leases the head, and every member polls it.

import { isCount } from "./plan.ts";

export interface Head {
  /** The last revision of the plan whose write was acknowledged. */
  readonly revision: number;
  /** The id of that write. Two writes may have the same revision, if a failover has undone one of them. */
  readonly id: string;
  /** True while a change is under way. Members then poll often. */
  readonly isBusy: boolean;
  /** The number of members, and the bytes of the plan. Members use both to spread their reads of a large plan. */
  readonly members: number;
  readonly bytes: number;
}

export const NO_HEAD: Head = { revision: 0, id: "", isBusy: true, members: 0, bytes: 0 };

export function encodeHead({ revision, id, isBusy, members, bytes }: Head): string {
  return JSON.stringify({ r: revision, i: id, b: isBusy ? 1 : 0, m: members, s: bytes });
}

/** Parses the value of the head. For any other text it returns `NO_HEAD`, so that members poll often. */
export function decodeHead(value: string | undefined): Head {
  try {
    const { r, i, b, m, s } = JSON.parse(value ?? "") as Record<string, unknown>;
    const [revision = 0, members = 0, bytes = 0] = [r, m, s].map((one) => (isCount(one) ? one : undefined));
    return { revision, id: typeof i === "string" ? i : "", isBusy: b !== 0, members, bytes };
  } catch {
    return NO_HEAD;
  }
}
