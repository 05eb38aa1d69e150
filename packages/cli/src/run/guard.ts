// The guard: a process of its own that ends CMD when the wrapper cannot. It hears on its standard input until when the lease
// covers CMD, and acts once such an instant passes unheard of, or once the wrapper is gone. It has no dependencies, so that it
// is small and starts fast, and no signal that is meant for the wrapper or its terminal ends it.

import { writeSync } from "node:fs";
import { Countdown } from "./countdown.ts";
import * as group from "./group.ts";
import { ASKED, DONE, type GuardOrder } from "./guard-order.ts";
import type { Mark } from "./process-table.ts";

/** The file descriptor by which the last guard hears. */
const LAST_GUARD = 3;

const countdown = new Countdown({ ...group, endGroup: ask }, leave);

for (const signal of ["SIGHUP", "SIGINT", "SIGQUIT", "SIGTERM", "SIGUSR1", "SIGUSR2"] as const) process.on(signal, () => {});
// The wrapper may have gone before its answer is written.
process.stdout.on("error", () => {});

let unread = "";
process.stdin.on("data", (chunk) => {
  const lines = `${unread}${String(chunk)}`.split("\n");
  unread = lines.pop() as string;
  for (const line of lines) hear(line);
  countdown.look();
});
process.stdin.on("close", () => countdown.close());

function hear(line: string): void {
  if (line === DONE) leave();
  const order = JSON.parse(line) as GuardOrder;
  countdown.hear(order);
  process.stdout.write(`${order.seq}\n`);
}

/** Asks CMD to end, once a wrapper that goes on meanwhile can read so; one that is yet to start CMD will have to ask it itself. */
function ask(mark: Mark, signal: NodeJS.Signals): void {
  if (mark.leader) process.stdout.write(`${ASKED}\n`);
  group.endGroup(mark, signal);
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
