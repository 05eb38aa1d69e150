import { DATE_GRAIN_MS } from "@leasehold/core/provider";

/** A reply's dates by the service's own clock; each names a second. */
export interface Dated {
  /** The reply was sent in this second. */
  readonly date?: Date;
  /** The blob was last written in this second. */
  readonly lastModified?: Date;
}

/**
 * The clocks of the service's own machines are trusted to agree to this: one dates the reply, another one dated the
 * blob.
 */
const SKEW_MS = 1_000;
/** The age of a blob may be off by this, in either direction. */
export const AGE_UNCERTAINTY_MS: number = DATE_GRAIN_MS + SKEW_MS;

/** Returns how long before the reply the blob was last written. The truth is less than a second away on either side. */
export function ageMs({ date, lastModified }: Dated): number {
  return (date?.getTime() ?? 0) - (lastModified?.getTime() ?? 0);
}

/** Returns the least that {@link ageMs} can be. */
export function leastAgeMs(dated: Dated): number {
  return Math.max(ageMs(dated) - DATE_GRAIN_MS, 0);
}

/** Returns the bounds of the blob's age when the reply was sent, or `undefined` if the reply contradicts itself. */
export function ageBoundsMs(dated: Dated): readonly [min: number, max: number] | undefined {
  const age = ageMs(dated);
  if (!dated.date || !dated.lastModified || age < -AGE_UNCERTAINTY_MS) return undefined;
  return [Math.max(age - AGE_UNCERTAINTY_MS, 0), age + AGE_UNCERTAINTY_MS];
}
