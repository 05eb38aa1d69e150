import { setTimeout as delay } from "node:timers/promises";
import type { Payment } from "./payments.ts";
import { freezeAt } from "./settings.ts";

/** A placeholder for long work outside of the transaction. It may be done twice. The payment itself is written once. */
export async function prepare({ id }: Payment): Promise<void> {
  await delay(300);
  // For `npm run freeze`: stop right before the write, until another process sends SIGCONT.
  if (id === freezeAt) {
    process.kill(process.pid, "SIGSTOP");
    await delay(20);
  }
}
