import { Elector, oncePerOccurrence, type LeaseStore } from "@leasehold/core";
import { every } from "@leasehold/schedulers/interval";

declare const store: LeaseStore;
declare const scheduledAt: Date;
declare function migrate(options: { signal: AbortSignal }): Promise<void>;
declare function serve(): Promise<void>;
declare function warmTheCache(signal: AbortSignal): Promise<void>;

export async function perDeployment(): Promise<void> {
  const version = process.env["GIT_SHA"];
  if (!version) throw new Error("GIT_SHA is not set.");
  await oncePerOccurrence(
    { store, name: "migrate", key: version },
    async ({ signal }) => {
      await migrate({ signal });
      signal.throwIfAborted();
    },
    { signal: AbortSignal.timeout(600_000) },
  );
  await serve();
}

declare function fetchRates(): Promise<Record<string, number>>;

export async function kept(): Promise<Record<string, number> | undefined> {
  const outcome = await oncePerOccurrence({ store, name: "rates", scheduledAt, keepResult: true }, fetchRates);
  if (outcome.ran || outcome.reason === "done") return outcome.result;
  return undefined;
}

export async function caughtUp(): Promise<void> {
  const refresh = every(
    { store, name: "rates", periodMs: 60_000, catchUp: { atMost: 30, since: "2026-11-20T00:00:00Z" } },
    fetchRates,
  );
  await refresh.close();
}

export async function oneAttempt(): Promise<void> {
  const elector = new Elector({ store, election: "warm-the-cache", minimumHoldMs: 10_000 });
  const outcome = await elector.tryRun(async (leadership) => warmTheCache(leadership.signal));
  if (!outcome.elected) console.log(`${outcome.leader?.candidateId ?? "somebody"} has it, or has had it lately`);
}
