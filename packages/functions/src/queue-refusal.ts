import { ConfigurationError } from "@leasehold/core";
import type { QueueSource } from "./platform.ts";

/**
 * Refuses what a queue delivers where nobody has said what a delivery that does not lead returns: the queue would take it for
 * processed, and delete it.
 * @throws {ConfigurationError}, before anything is asked of the store, so that the queue keeps it.
 */
export function refuseQueue(source: QueueSource | undefined, onStandby: unknown, election: string): void {
  if (!source || onStandby !== undefined) return;
  throw new ConfigurationError(
    `This was delivered by ${source.name}, which takes a return for "processed": a delivery that does not lead would lose it. Pass 'onStandby', which ${source.advice} unless its reason is 'done'.`,
    { election },
  );
}
