import type { Clock } from "../time/clock.ts";
import type { CheckReport } from "./lease-store.ts";

/** Sends the two requests of a check, one after the other, and returns how long each took. Rejects if one of them rejects. */
export async function timedCheck(clock: Clock, read: () => Promise<unknown>, probe: () => Promise<void>): Promise<CheckReport> {
  const begunMs = clock.monotonicMs();
  await read();
  const readMs = clock.monotonicMs() - begunMs;
  await probe();
  return { readMs, writeMs: clock.monotonicMs() - begunMs - readMs };
}
