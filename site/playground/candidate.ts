import type { Elector, Leadership } from "@leasehold/core";
import type { Timer } from "@leasehold/core/provider";
import type { ProcessClock } from "@leasehold/core/testing";

/** The state that a lane shows over some time. */
export type LaneState = "standby" | "leading" | "stale" | "ending" | "frozen" | "dead" | "stopped";

export interface Span {
  readonly fromMs: number;
  toMs: number;
  readonly state: LaneState;
  readonly term: number | undefined;
}

/** One process, with its elector, its clocks and its network. */
export class Candidate {
  readonly spans: Span[] = [];
  process: ProcessClock;
  elector: Elector;
  isCut = false;
  losesReply = false;
  isStopped = false;
  /** The flag of a program that trusts its last event. A frozen process hears no event, so that its flag stays. */
  flag = false;
  /** The leadership that its task has had last. */
  leadership: Leadership | undefined;
  thaws: Timer | undefined;
  /** For a frozen leader: the virtual time until which it is valid. A frozen process is not asked, since its answer would run code. */
  frozenValidUntilMs = 0;

  readonly index: number;

  constructor(index: number, started: { readonly process: ProcessClock; readonly elector: Elector }) {
    this.index = index;
    this.process = started.process;
    this.elector = started.elector;
  }

  get name(): string {
    return nameOf(this.index);
  }
}

/** Returns the name of a candidate by its index. */
export function nameOf(index: number): string {
  return `worker-${index + 1}`;
}
