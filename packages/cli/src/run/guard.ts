// The guard: a process of its own that ends CMD when the wrapper cannot. It hears on its standard input until when the lease
// covers CMD, and acts once such an instant passes unheard of, or once the wrapper is gone. It has no dependencies, so that it
// is small and starts fast, and no signal that is meant for the wrapper or its terminal ends it.

import { writeSync } from "node:fs";
import { endGroup, isGone, signalGroup } from "./group.ts";
import { DONE, killInstant, type GuardOrder } from "./guard-order.ts";
import { after, machineNow, untilMs, type MachineInstant } from "./machine-clock.ts";

/** The file descriptor by which the last guard hears. */
const LAST_GUARD = 3;
/** How often it looks at the clocks, of which one may jump. */
const LOOK_MS = 1_000;
/** How often it looks whether CMD is gone. */
const POLL_MS = 50;
/** After the wrapper's end, CMD may still be between its fork and the program that carries our mark. */
const UNBORN_MS = 1_000;
/** What cannot be killed for so long never will be, or not by us. */
const GIVEN_UP_MS = 60_000;

let order: GuardOrder | undefined;
let closedAt: MachineInstant | undefined;
let askedAt: MachineInstant | undefined;
let killedAt: MachineInstant | undefined;
let timer: NodeJS.Timeout | undefined;

for (const signal of ["SIGHUP", "SIGINT", "SIGQUIT", "SIGTERM", "SIGUSR1", "SIGUSR2"] as const) process.on(signal, () => {});
// The wrapper may have gone before its answer is written.
process.stdout.on("error", () => {});

let unread = "";
process.stdin.setEncoding("utf8");
process.stdin.on("data", (text: string) => {
  const lines = (unread + text).split("\n");
  unread = lines.pop() ?? "";
  for (const line of lines) hear(line);
  watch();
});
process.stdin.on("error", () => {});
process.stdin.on("close", () => {
  closedAt = machineNow();
  watch();
});

function hear(line: string): void {
  if (line === DONE) leave();
  const next = JSON.parse(line) as GuardOrder;
  if (next.seq > (order?.seq ?? -1)) order = next;
  process.stdout.write(`${next.seq}\n`);
}

/** Does what is due, and looks again when something will be. */
function watch(): void {
  clearTimeout(timer);
  if (!order) {
    if (closedAt) leave();
    return;
  }
  const now = machineNow();
  const { termAt } = order;
  if (!askedAt && (closedAt || (termAt && untilMs(termAt, now) <= 0))) {
    askedAt = now;
    endGroup(order, order.signal);
  }
  const isEnding = askedAt !== undefined || termAt === null;
  const killAt = killInstant(order, askedAt && after(askedAt, order.graceMs));
  if (isEnding && untilMs(killAt, now) <= 0) {
    killedAt ??= now;
    signalGroup(order, "SIGKILL");
  }
  if (isOver(order, now)) leave();
  const untilNextMs = termAt && !askedAt ? untilMs(termAt, now) : killedAt ? POLL_MS : Math.min(POLL_MS, untilMs(killAt, now));
  // After a freeze, what was written meanwhile is read before anything is done by what was known before it.
  timer = setTimeout(() => setImmediate(watch), Math.min(Math.max(untilNextMs, 1), LOOK_MS));
}

/** Reports whether nothing of CMD is left, as far as that can be known: a wrapper that lives may not have started it yet. */
function isOver({ termId, leader }: GuardOrder, now: MachineInstant): boolean {
  if (killedAt && untilMs(after(killedAt, GIVEN_UP_MS), now) <= 0) return true;
  if (!askedAt || !isGone({ termId, leader })) return false;
  return leader !== undefined || (closedAt !== undefined && untilMs(after(closedAt, UNBORN_MS), now) <= 0);
}

/** Ends, and lets the last guard go as well: the number of a group that is gone may be another's soon. */
function leave(): never {
  try {
    writeSync(LAST_GUARD, `${DONE}\n`);
  } catch {
    // There is none, or it has ended.
  }
  process.exit(0);
}
