import { oncePerOccurrence } from "@leasehold/core";
import { Cron } from "croner";
import { report } from "./report.ts";
import { settings } from "./settings.ts";
import { stopping } from "./stop.ts";
import { openStore } from "./store.ts";

const { election, schedule, timeoutMs } = settings;

// Container Apps do not pass the time at which a replica was due, so take the last tick. CandidateJob lets every retry end before
// the next one.
const [due] = new Cron(schedule, { timezone: "Etc/UTC" }).previousRuns(1);
if (due === undefined) throw new Error(`The schedule ${schedule} has no tick before now.`);
const facts = { election, occurrence: due.toISOString() };

try {
  const outcome = await oncePerOccurrence(
    // Another replica may have died with the claim. After its lease of 15 s, this one takes over.
    { store: openStore(), name: election, scheduledAt: due, whenInProgress: "wait" },
    async ({ signal, occurrence }) => {
      const limited = AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]);
      // Put the work here, with the signal. Throw if it was cut short, because otherwise the occurrence counts as done.
      await settle(occurrence.scheduledMs, limited);
      limited.throwIfAborted();
    },
    { signal: stopping },
  );
  report("done", { ...facts, ran: outcome.ran });
} catch (error) {
  report("failed", facts);
  console.error(error);
  // Container Apps then retry.
  process.exitCode = 1;
}

/** A placeholder for your own work. */
async function settle(scheduledMs: number, signal: AbortSignal): Promise<void> {
  signal.throwIfAborted();
  console.log(`settling what was open at ${new Date(scheduledMs).toISOString()}`);
  await Promise.resolve();
}
