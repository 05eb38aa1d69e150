import { ConfigurationError } from "@leasehold/core";

/** What delivers an event, where that is not known to be a schedule. A return counts as "processed" there. */
export interface DeliverySource {
  /** Its name, for instance `Amazon SQS`, or `an event of 'acme.orders'`. */
  readonly name: string;
  /** The ways to have it deliver again, as a verb: `throws`. */
  readonly advice: string;
  /**
   * It keeps what it delivered until a return, as a queue does, and then deletes it for every delivery. Else each event is
   * pushed by itself, and only the delivery that has claimed it answers for it.
   */
  readonly isQueue: boolean;
}

/**
 * Refuses an event that is not known to be a tick of a schedule where no `onStandby` says what a standby returns. A tick may be
 * skipped, because another invocation does the same work. Any other event is lost with the delivery that skips it.
 *
 * The gate `oncePerTick` takes pushed events: it skips a delivery only if another one of the same occurrence has done it, or answers for it.
 * @throws {ConfigurationError} before any request to the store.
 */
export function refuseUnscheduled(
  source: DeliverySource | undefined,
  { gate, onStandby }: { readonly gate?: string | undefined; readonly onStandby?: unknown },
  election: string,
): void {
  if (!source || onStandby !== undefined || (gate === "oncePerTick" && !source.isQueue)) return;
  const { name, advice, isQueue } = source;
  const cause = `This was delivered by ${name}, which takes a return for "processed": a delivery that does not lead would lose it.`;
  const advised = isQueue
    ? `Pass 'onStandby', which ${advice} unless its reason is 'done'.`
    : `Pass 'onStandby', which ${advice}, or returns if such events may be skipped. Or use the gate 'oncePerTick', with an 'occurrence' for each event.`;
  throw new ConfigurationError(`${cause} ${advised}`, { election });
}
