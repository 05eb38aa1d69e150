import { setTimeout as delay } from "node:timers/promises";
import { Elector } from "@leasehold/core";
import { openStore, setting } from "./store.ts";

const election = setting("ELECTION");
const elector = new Elector({
  store: openStore(),
  election,
  // Cloud Run kills an instance 10 s after SIGTERM.
  drainTimeoutMs: Number(setting("DRAIN_TIMEOUT_MS")),
  // A task that does not stop is killed soon anyway: let others know now.
  onOverrun: "exit",
  logger: console,
});

// The alerts of ElectionAlerts count these lines.
elector.on("startedLeading", ({ term }) => {
  tell("term", term);
  tell("leader", term);
});
const minutes = setInterval(() => elector.isLeader && tell("leader"), 60_000);

const stop = new AbortController();
process.on("SIGTERM", () => stop.abort());

try {
  // What the leader does goes here, in steps that look at the signal.
  await elector.run(
    async ({ signal }) => {
      while (!signal.aborted) await delay(1_000, undefined, { signal });
    },
    { signal: stop.signal },
  );
} finally {
  clearInterval(minutes);
}

function tell(leasehold: "leader" | "term", term?: number): void {
  console.log(JSON.stringify({ leasehold, election, term }));
}
