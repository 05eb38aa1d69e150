import { ConfigurationError, type LoggerOption } from "@leasehold/core";
import { Journal } from "@leasehold/core/provider";

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
  /** The queue's setting after how many deliveries a message goes to the dead-letter queue, where it has one. */
  readonly limit?: string | undefined;
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

/** The journals to which it was said: once is enough. */
const said = new WeakSet<Journal>();

/** Warns of a queue that counts each delivery to a standby, also of one that hands its messages back. */
export function warnOfDeliveryLimit(
  source: DeliverySource | undefined,
  { waitMs = 0, logger }: { readonly waitMs?: number | undefined; readonly logger?: LoggerOption },
  election: string,
): void {
  const journal = Journal.to(logger);
  if (source?.limit === undefined || waitMs > 0 || said.has(journal)) return;
  said.add(journal);
  const { name, limit } = source;
  const text = `A delivery of ${name} did not lead '${election}'. The queue counts it as one all the same: messages that wait for the leader reach ${limit}, and go to the dead-letter queue undone. Raise ${limit} above the number of deliveries in the longest run of a leader, or wait for the turn with waitMs.`;
  journal.warn("LEASEHOLD_DELIVERY_COUNTED", "warn", text, { election });
}
