import { ConfigurationError } from "../reporting/errors.ts";
import type { StopSignal } from "./calls.ts";

/** The callbacks of each process signal. One listener serves all electors, because there may be many. */
const byName = new Map<string, Set<() => void>>();
const UNSTOPPABLE: readonly string[] = ["SIGKILL", "SIGSTOP"];

/** @throws {ConfigurationError} unless it is a list of signals that a process can hear. */
export function checkStopOn(stopOn: unknown): asserts stopOn is readonly StopSignal[] | undefined {
  if (stopOn === undefined) return;
  const isHeard = (name: unknown): boolean =>
    typeof name === "string" && /^SIG[A-Z\d]+$/.test(name) && !UNSTOPPABLE.includes(name);
  if (Array.isArray(stopOn) && stopOn.every(isHeard)) return;
  throw new ConfigurationError(
    `stopOn is ${JSON.stringify(stopOn)}; it must be a list of signals that a process can hear, such as ["SIGTERM", "SIGINT"].`,
  );
}

/** Calls `stop` at the first of these signals, and then stops listening. Returns a function that stops listening. */
export function onStopSignal(names: readonly StopSignal[], stop: () => void): () => void {
  const off = (): void => {
    for (const name of names) {
      const callbacks = byName.get(name);
      if (callbacks?.delete(onSignal) && callbacks.size === 0) process.off(name as NodeJS.Signals, hear);
    }
  };
  const onSignal = (): void => {
    off();
    stop();
  };
  for (const name of names) {
    const callbacks = byName.get(name) ?? new Set<() => void>();
    if (callbacks.size === 0) process.on(name as NodeJS.Signals, hear);
    byName.set(name, callbacks.add(onSignal));
  }
  return off;
}

function hear(name: NodeJS.Signals): void {
  for (const callback of [...(byName.get(name) ?? [])]) callback();
}
