import { Token } from "cdktn";
import { longestLeaseMs } from "../../terraform.ts";

/** Less than a day, because the setting has the form hh:mm:ss. */
const MAX_TIMEOUT_MS = 86_399_000;
/** The wait between two tries of a timer's occurrence. */
export const RETRY_DELAY_MS = 30_000;

/**
 * Returns the settings that fit an invocation's time, its lease and its retries to each other.
 *
 * An invocation that dies keeps its claim for as long as it might have run. So the platform has to retry for longer than that:
 * `LEADER_RETRIES` tries, `LEADER_RETRY_DELAY_MS` apart. The code passes both to `app.timer` as its `retry`.
 * @throws {Error} for a timeout that Functions would refuse.
 */
export function timingSettings(timeoutMs: number): Record<string, string> {
  return {
    AzureFunctionsJobHost__functionTimeout: timeSpan(timeoutMs),
    LEADER_RETRIES: String(Math.ceil(longestLeaseMs(timeoutMs) / RETRY_DELAY_MS) + 1),
    LEADER_RETRY_DELAY_MS: String(RETRY_DELAY_MS),
  };
}

/** Returns a duration in the format of `functionTimeout`: hh:mm:ss. */
function timeSpan(timeoutMs: number): string {
  if (Token.isUnresolved(timeoutMs)) throw new Error("timeoutMs is not known when this is synthesized; it must be.");
  if (!Number.isInteger(timeoutMs / 1_000) || timeoutMs < 1_000 || timeoutMs > MAX_TIMEOUT_MS) {
    throw new Error(`timeoutMs is ${timeoutMs}; it must be whole seconds, from 1_000 to ${MAX_TIMEOUT_MS}.`);
  }
  const seconds = timeoutMs / 1_000;
  const parts = [Math.floor(seconds / 3_600), Math.floor(seconds / 60) % 60, seconds % 60];
  return parts.map((part) => String(part).padStart(2, "0")).join(":");
}
