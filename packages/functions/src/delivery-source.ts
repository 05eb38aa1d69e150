import { ConfigurationError, type LoggerOption } from "@leasehold/core";
import { Journal } from "@leasehold/core/provider";

/** A source of events that is not known to be a schedule. The source treats a return of the handler as "processed". */
export interface DeliverySource {
  /** The name of the source, for instance `Amazon SQS`, or `an event of 'acme.orders'`. */
  readonly name: string;
  /** The act of a handler that makes the source deliver again, as a verb: `throws`. */
  readonly advice: string;
  /**
   * True for a queue: it keeps a message until a delivery returns, and then deletes it for every delivery. False for a source
   * that pushes each event by itself: there only the delivery that has claimed the event decides.
   */
  readonly isQueue: boolean;
  /** The name of the queue's setting for the number of deliveries before the dead-letter queue, if it has one. */
  readonly limit?: string | undefined;
}

/**
 * Refuses an event that is not known to be a tick of a schedule, unless `onStandby` says what a standby returns. A tick may be
 * skipped, because another invocation does the same work. Any other event would be lost with the delivery that skips it.
 *
 * The gate `oncePerTick` takes pushed events. It skips such a delivery only if another delivery has done the occurrence or holds
 * it.
 * @throws {ConfigurationError} before any request to the store.
 */
export function refuseUnscheduled(
  source: DeliverySource | undefined,
  { gate, onStandby }: { readonly gate?: string | undefined; readonly onStandby?: unknown },
  election: string,
): void {
  if (!source || onStandby !== undefined || (gate === "oncePerTick" && !source.isQueue)) return;
  const { name, advice, isQueue } = source;
  const cause = `This was delivered by ${name}, which treats a return as "processed": a delivery that does not lead would lose it.`;
  const advised = isQueue
    ? `Pass 'onStandby', which ${advice} if its reason is 'claimed', 'held-back' or 'unavailable'.`
    : `Pass 'onStandby', which ${advice}, or returns if such events may be skipped. Or use the gate 'oncePerTick', with an 'occurrence' for each event.`;
  throw new ConfigurationError(`${cause} ${advised}`, { election });
}

/** The journals that have this warning already. One warning per journal is enough. */
const warned = new WeakSet<Journal>();

/** Warns of a queue that counts each delivery to a standby, even if the standby returns the messages to the queue. */
export function warnOfDeliveryLimit(
  source: DeliverySource | undefined,
  { waitMs = 0, logger }: { readonly waitMs?: number | undefined; readonly logger?: LoggerOption },
  election: string,
): void {
  const journal = Journal.to(logger);
  if (source?.limit === undefined || waitMs > 0 || warned.has(journal)) return;
  warned.add(journal);
  const { name, limit } = source;
  const text = `A delivery of ${name} did not lead '${election}'. The queue counts it as one all the same: messages that wait for the leader reach ${limit}, and go to the dead-letter queue undone. Raise ${limit} above the number of deliveries in the longest run of a leader, or wait for the turn with waitMs.`;
  journal.warn("LEASEHOLD_DELIVERY_COUNTED", "warn", text, { election });
}
