import { setTimeout as delay } from "node:timers/promises";
import { oncePerOccurrence } from "@leasehold/core";
import { Cron } from "croner";
import { openStore, setting } from "./store.ts";

// An execution is not told when it was due: it is the last tick. CandidateJob sees to it that every retry begins before the next one.
const [scheduledAt] = new Cron(setting("LEADER_SCHEDULE"), { timezone: setting("LEADER_TIME_ZONE") }).previousRuns(1);
if (!scheduledAt) throw new Error("LEADER_SCHEDULE was never due.");
const name = setting("ELECTION");
const timeoutMs = Number(setting("LEADER_TIMEOUT_MS"));

const stop = new AbortController();
process.on("SIGTERM", () => stop.abort());

const outcome = await oncePerOccurrence(
  // Whoever comes second waits, and does it if the first one dies: nobody starts an execution again for it.
  { store: openStore(), name, scheduledAt, whenInProgress: "wait" },
  async ({ signal, occurrence }) => {
    console.log(JSON.stringify({ closing: occurrence.id, attempt: occurrence.attempt }));
    // What takes a while goes here, with a signal; and it throws if it was cut short, or the occurrence would count as done.
    await delay(2_000, undefined, { signal: AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]) });
  },
  { signal: stop.signal },
);
console.log(JSON.stringify(outcome));
