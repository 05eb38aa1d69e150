import type { Clock } from "@leasehold/core/provider";
import type { Elector, ElectorEvents } from "@leasehold/core";

/** The names of all events of an elector. */
export const EVENT_NAMES: ReadonlyArray<keyof ElectorEvents> = [
  "standby",
  "startedLeading",
  "ending",
  "stoppedLeading",
  "newLeader",
  "renewed",
  "renewFailed",
  "releaseFailed",
  "overrun",
  "storeFailed",
  "listenerFailed",
];

interface LoggedEvent {
  readonly name: keyof ElectorEvents;
  readonly atMs: number;
  readonly event: unknown;
}

/** Records all events of an elector from now on. */
export class EventLog {
  readonly #events: LoggedEvent[] = [];

  constructor(elector: Elector, clock: Clock) {
    for (const name of EVENT_NAMES) elector.on(name, (event) => this.#events.push({ name, atMs: clock.monotonicMs(), event }));
  }

  /** Returns the names of the events, in order; if names are given, only these. */
  names(...only: ReadonlyArray<keyof ElectorEvents>): Array<keyof ElectorEvents> {
    return this.#events.map(({ name }) => name).filter((name) => only.length === 0 || only.includes(name));
  }

  /** Returns the events of one name, in order. */
  all<Name extends keyof ElectorEvents>(name: Name): Array<ElectorEvents[Name]> {
    return this.#events.filter((logged) => logged.name === name).map(({ event }) => event as ElectorEvents[Name]);
  }

  /** Returns when the events of one name came, by the monotonic clock. */
  timesMs(name: keyof ElectorEvents): number[] {
    return this.#events.filter((logged) => logged.name === name).map(({ atMs }) => atMs);
  }
}
