import type { DeliveryLog } from "./witness.ts";

/** The figures of a storm. */
export interface Figures {
  readonly deliveries: number;
  /** Processes that were killed. */
  readonly killed: number;
  /** Deliveries that died with their process, by what they were doing. */
  readonly died: {
    readonly claiming: number;
    readonly claimed: number;
    readonly working: number;
    readonly releasing: number;
    readonly released: number;
  };
  readonly acquisitions: number;
  /** Acquisitions after one that was never released. */
  readonly takeovers: number;
  readonly ran: number;
  readonly failed: number;
  readonly tookMs: number;
}

export function figuresOf(deliveries: readonly DeliveryLog[], killed: number): Figures {
  const died = deliveries.filter(({ diedMs }) => diedMs !== undefined);
  const acquired = deliveries.filter((delivery) => delivery.acquired);
  const count = (of: readonly DeliveryLog[], where: (delivery: DeliveryLog) => boolean): number => of.filter(where).length;
  const ends = deliveries.map(({ settled, diedMs }) => settled?.atMs ?? diedMs ?? 0);
  return {
    deliveries: deliveries.length,
    killed,
    died: {
      claiming: count(died, (delivery) => !delivery.acquired),
      claimed: count(died, (delivery) => delivery.acquired !== undefined && !delivery.started),
      working: count(died, ({ started, returnedMs }) => started !== undefined && returnedMs === undefined),
      releasing: count(died, ({ returnedMs, released }) => returnedMs !== undefined && !released),
      released: count(died, ({ released }) => released !== undefined),
    },
    acquisitions: acquired.length,
    takeovers: count(acquired, ({ election, acquired: taken }) => {
      const before = acquired.find((one) => one.election === election && one.acquired?.term === (taken?.term ?? 0) - 1);
      return before !== undefined && !before.released?.ok;
    }),
    ran: count(deliveries, ({ settled }) => settled?.outcome === "ran"),
    failed: count(deliveries, ({ settled }) => settled?.outcome === "failed"),
    tookMs: Math.round(Math.max(...ends) - Math.min(...deliveries.map(({ sentMs }) => sentMs))),
  };
}
