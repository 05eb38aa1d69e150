import { setTimeout as delay } from "node:timers/promises";
import { oncePerOccurrence } from "@leasehold/core";
import { Cron } from "croner";
import { openStore, setting } from "./store.ts";

// An execution does not learn when it was due, so take the last tick. CandidateJob lets every retry end before the next one.
const [scheduledAt] = new Cron(setting("LEADER_SCHEDULE"), { timezone: setting("LEADER_TIME_ZONE") }).previousRuns(1);
if (!scheduledAt) throw new Error("LEADER_SCHEDULE was never due.");
const name = setting("ELECTION");
const timeoutMs = Number(setting("LEADER_TIMEOUT_MS"));

const stop = new AbortController();
process.on("SIGTERM", () => stop.abort());

const outcome = await oncePerOccurrence(
  // A second execution waits, and does the occurrence if the first one dies, because Cloud Run starts no further execution for
  // it.
  { store: openStore(), name, scheduledAt, whenInProgress: "wait" },
  async ({ signal, occurrence }) => {
    console.log(JSON.stringify({ closing: occurrence.id, attempt: occurrence.attempt }));
    // Put the long work here, with a signal. Throw if it was cut short, because otherwise the occurrence counts as done.
    await delay(2_000, undefined, { signal: AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]) });
  },
  { signal: stop.signal },
);
console.log(JSON.stringify(outcome));
