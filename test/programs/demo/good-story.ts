import type { DemoEvent, EventDetails, EventName } from "./demo-event.ts";
import type { Entry } from "./ledger.ts";

/** Returns an event as a worker or the demo logs it, for tests. */
export function eventAt<Name extends EventName>(
  at: number,
  candidate: string | null,
  event: Name,
  details: EventDetails[Name],
  term: number | null = null,
): DemoEvent {
  return { at, candidate, event, term, ...details } as DemoEvent;
}

/** Returns the events of a demo without faults. Tests add faults to it. */
export function goodStory(): DemoEvent[] {
  const e = eventAt;
  return [
    e(0, "a", "spawned", { pid: 1 }),
    e(0, "b", "spawned", { pid: 2 }),
    e(0, "c", "spawned", { pid: 3 }),
    e(1_000, "a", "started-leading", { validUntil: 14_500 }, 1),
    e(1_010, "a", "sealed", {}, 1),
    e(2_000, "a", "wrote", { entry: 1 }, 1),
    e(6_000, "a", "renewed", { validUntil: 19_500 }, 1),
    e(7_000, "a", "killed", {}, 1),
    e(7_010, "a", "exited", { code: null, signal: "SIGKILL" }),
    e(21_100, "b", "started-leading", { validUntil: 34_600 }, 2),
    e(21_110, "b", "sealed", {}, 2),
    e(22_000, "b", "wrote", { entry: 2 }, 2),
    e(23_000, "b", "terminated", {}, 2),
    e(24_000, "b", "wrote", { entry: 3 }, 2),
    e(24_001, "b", "validity-ended", { lastValid: 24_001 }, 2),
    e(24_010, "b", "stopped-leading", { lost: false }, 2),
    e(24_020, "b", "exited", { code: 0, signal: null }),
    e(25_000, "c", "started-leading", { validUntil: 38_500 }, 3),
    e(25_010, "c", "sealed", {}, 3),
    e(26_000, "c", "wrote", { entry: 4 }, 3),
    e(27_000, "c", "paused", {}, 3),
    e(40_200, "d", "started-leading", { validUntil: 53_700 }, 4),
    e(40_210, "d", "sealed", {}, 4),
    e(41_000, "d", "wrote", { entry: 5 }, 4),
    e(42_000, "c", "resumed", {}, 3),
    e(42_001, "c", "validity-ended", { lastValid: 26_999 }, 3),
    e(42_001, "c", "thawed", { frozenMs: 15_002, valid: false }, 3),
    e(42_020, "c", "fenced-write-refused", { error: "FencedError", message: "" }, 3),
    e(42_030, "c", "stopped-leading", { lost: true }, 3),
    e(42_031, "c", "standby", {}),
  ];
}

/** Returns the versions of the ledger as they were read. */
export function goodLedger(): Entry[][] {
  const entries: Entry[] = [
    { entry: 1, term: 1, candidate: "a" },
    { entry: 2, term: 2, candidate: "b" },
    { entry: 3, term: 2, candidate: "b" },
    { entry: 4, term: 3, candidate: "c" },
    { entry: 5, term: 4, candidate: "d" },
  ];
  // The reader has missed some versions.
  return [[], entries.slice(0, 1), entries.slice(0, 4), entries];
}
