import { VirtualClock } from "@leasehold/core/testing";

/**
 * The time of a simulation in which nothing waits for anything outside of this process. All ready work has run once the promises
 * of this turn have settled, without a turn of the event loop.
 */
export class TrueTime extends VirtualClock {
  override async settle(): Promise<void> {
    await new Promise<void>((resolve) => process.nextTick(resolve));
  }
}
