import type { Leader } from "@leasehold/core";
import { MAX_NAME_BYTES } from "@leasehold/core/provider";

const MARK = "delivery: ";

/** The bytes of a claim's value that are kept for the delivery, and are not the user's. */
export const DELIVERY_BYTES: number = MARK.length + MAX_NAME_BYTES + 1;

/** Returns the value of a claim: what the user publishes, and on a last line of its own what names the delivery. */
export function claimValue(published: string | undefined, delivery: string | undefined): string | undefined {
  if (delivery === undefined) return published;
  return `${published === undefined ? "" : `${published}\n`}${MARK}${delivery}`;
}

/** A claim as it was found: the leader as the user is told of it, and the delivery that it was made for. */
export interface FoundClaim {
  readonly leader: Leader;
  readonly delivery: string | undefined;
}

/** Takes a claim's value apart again. */
export function foundClaim(leader: Leader): FoundClaim {
  const { value, ...rest } = leader;
  const lines = value?.split("\n") ?? [];
  const last = lines.at(-1);
  if (!last?.startsWith(MARK)) return { leader, delivery: undefined };
  const published = lines.slice(0, -1);
  return {
    leader: published.length === 0 ? rest : { ...rest, value: published.join("\n") },
    delivery: last.slice(MARK.length),
  };
}
