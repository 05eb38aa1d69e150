import { setTimeout as delay } from "node:timers/promises";
import type { Payment } from "./payments.ts";
import { freezeAt } from "./settings.ts";

/** Stands for work that takes a while, outside of the transaction. It may be done twice; what counts is written once. */
export async function prepare({ id }: Payment): Promise<void> {
  await delay(300);
  // For `npm run freeze`: it stands still right before it writes, until somebody lets it go on.
  if (id === freezeAt) {
    process.kill(process.pid, "SIGSTOP");
    await delay(20);
  }
}
