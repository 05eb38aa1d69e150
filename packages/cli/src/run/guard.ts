// The guard: a process of its own that ends CMD. The wrapper's orders on the guard's standard input say until when CMD may run.
// The guard acts if such an instant passes without a newer order, or if the wrapper is gone. It has no dependencies, so that it
// is small and starts fast. It ignores the signals that are meant for the wrapper or its terminal.

import { BackupOrders } from "./backup-orders.ts";
import { GuardTimer } from "./guard-timer.ts";
import * as group from "./group.ts";
import { DONE, type GuardOrder } from "./guard-order.ts";

const backup = new BackupOrders();
const timer = new GuardTimer(group, () => backup.end(), leave);

for (const signal of ["SIGHUP", "SIGINT", "SIGQUIT", "SIGTERM", "SIGUSR1", "SIGUSR2"] as const) process.on(signal, () => {});
// Ignore a broken pipe: the wrapper may be gone before the guard writes an answer.
process.stdout.on("error", () => {});

let unread = "";
process.stdin.on("data", (chunk) => {
  const lines = `${unread}${String(chunk)}`.split("\n");
  unread = lines.pop() as string;
  for (const line of lines) hear(line);
  timer.look();
});
process.stdin.on("close", () => timer.close());

function hear(line: string): void {
  if (line === DONE) leave();
  const order = JSON.parse(line) as GuardOrder;
  timer.hear(order);
  // The backup guard gets the order before the wrapper gets the answer, after which the wrapper may start CMD.
  backup.give(order);
  process.stdout.write(`${order.seq}\n`);
}

/** Ends the guard and the backup guard. */
function leave(): never {
  backup.end();
  process.exit(0);
}
