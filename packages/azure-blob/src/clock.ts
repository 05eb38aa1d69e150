import { boundsOfAge, DATE_GRAIN_MS } from "@leasehold/core/provider";

/** The dates in a reply, by the service's own clock. Each names a second. */
export interface Dated {
  /** The service sent the reply in this second. */
  readonly date?: Date;
  /** The blob was last written in this second. */
  readonly lastModified?: Date;
}

/**
 * Returns the time from the blob's last write to the reply. The error is less than a second in either direction, if both dates
 * come from one clock.
 */
export function ageMs({ date, lastModified }: Dated): number {
  return (date?.getTime() ?? 0) - (lastModified?.getTime() ?? 0);
}

/** Returns the least age that these dates allow: each date names a whole second. */
export function leastAgeMs(dated: Dated): number {
  return Math.max(ageMs(dated) - DATE_GRAIN_MS, 0);
}

/**
 * Returns bounds of the blob's age at the time of the reply. Returns `undefined` if the reply lacks a date or contradicts itself.
 */
export function ageBoundsMs(dated: Dated): readonly [min: number, max: number] | undefined {
  return dated.date && dated.lastModified && boundsOfAge(ageMs(dated));
}
