// The guard: a process of its own that ends CMD when the wrapper cannot. It hears on its standard input until when the lease
// covers CMD, and acts once such an instant passes unheard of, or once the wrapper is gone. It has no dependencies, so that it
// is small and starts fast, and no signal that is meant for the wrapper or its terminal ends it.

import { BackupOrders } from "./backup-orders.ts";
import { Countdown } from "./countdown.ts";
import * as group from "./group.ts";
import { ASKED, DONE, type GuardOrder } from "./guard-order.ts";
import type { Mark } from "./process-table.ts";

const backup = new BackupOrders();
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
  // Before the answer, after which the wrapper may start CMD.
  backup.give(order);
  process.stdout.write(`${order.seq}\n`);
}

/** Asks CMD to end, once a wrapper that goes on meanwhile can read so; one that is yet to start CMD will have to ask it itself. */
function ask(mark: Mark, signal: NodeJS.Signals): void {
  if (mark.leader) process.stdout.write(`${ASKED}\n`);
  group.endGroup(mark, signal);
}

/** Ends, and lets the backup guard go as well. */
function leave(): never {
  backup.end();
  process.exit(0);
}
