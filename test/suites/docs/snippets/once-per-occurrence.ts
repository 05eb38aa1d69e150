import { Elector, oncePerOccurrence, type LeaseStore } from "@leasehold/core";

declare const store: LeaseStore;
declare const scheduledAt: Date;
declare function warmTheCache(signal: AbortSignal): Promise<void>;

declare function fetchRates(): Promise<Record<string, number>>;

export async function kept(): Promise<Record<string, number> | undefined> {
  const outcome = await oncePerOccurrence({ store, name: "rates", scheduledAt, keepResult: true }, fetchRates);
  if (outcome.ran || outcome.reason === "done") return outcome.result;
  return undefined;
}

export async function oneAttempt(): Promise<void> {
  const elector = new Elector({ store, election: "warm-the-cache", minimumHoldMs: 10_000 });
  const outcome = await elector.tryRun(async (leadership) => warmTheCache(leadership.signal));
  if (!outcome.elected) console.log(`${outcome.leader?.candidateId ?? "somebody"} has it, or has had it lately`);
}
