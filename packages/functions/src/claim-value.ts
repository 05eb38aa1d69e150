import type { Leader } from "@leasehold/core";
import { MAX_NAME_BYTES } from "@leasehold/core/provider";

const MARK = "delivery: ";

/** The bytes of a claim's value that are reserved for the name of the request. */
export const DELIVERY_BYTES: number = MARK.length + MAX_NAME_BYTES + 1;

/** Returns the value of a claim: the user's text, and a last line with the name of the request. */
export function claimValue(published: string | undefined, delivery: string | undefined): string | undefined {
  if (delivery === undefined) return published;
  return `${published === undefined ? "" : `${published}\n`}${MARK}${delivery}`;
}

/** A claim that was found: the leader with the user's text only, and the name of the request. */
export interface FoundClaim {
  readonly leader: Leader;
  readonly delivery: string | undefined;
}

/** Splits a claim's value into the user's text and the name of the request. */
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
