import { setTimeout as delay } from "node:timers/promises";
import { Elector } from "@leasehold/core";
import { openStore, setting } from "./store.ts";

const election = setting("ELECTION");
const elector = new Elector({
  store: openStore(),
  election,
  // Cloud Run kills an instance 10 s after SIGTERM.
  drainTimeoutMs: Number(setting("DRAIN_TIMEOUT_MS")),
  // Cloud Run will kill a task that does not stop. Exit now, so that a standby takes over sooner.
  onOverrun: "exit",
  logger: console,
});

// The alerts of ElectionAlerts count these lines.
elector.on("startedLeading", ({ term }) => {
  print("term", term);
  print("leader", term);
});
const minutes = setInterval(() => elector.isLeader && print("leader"), 60_000);

const stop = new AbortController();
process.on("SIGTERM", () => stop.abort());

try {
  // Put the leader's work here, in steps that check the signal.
  await elector.run(
    async ({ signal }) => {
      while (!signal.aborted) await delay(1_000, undefined, { signal });
    },
    { signal: stop.signal },
  );
} finally {
  clearInterval(minutes);
}

function print(leasehold: "leader" | "term", term?: number): void {
  console.log(JSON.stringify({ leasehold, election, term }));
}
