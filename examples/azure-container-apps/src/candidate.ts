import { setTimeout as delay } from "node:timers/promises";
import { Elector } from "@leasehold/core";
import { report } from "./report.ts";
import { settings } from "./settings.ts";
import { stopping } from "./stop.ts";
import { openStore } from "./store.ts";

const { election, drainTimeoutMs } = settings;
const elector = new Elector({
  store: openStore(),
  election,
  drainTimeoutMs,
  // A task that does not stop is killed soon anyway: let others know now.
  onOverrun: "exit",
  logger: console,
});

// Where nobody prints this for a quarter of an hour, nobody leads.
const sayWhoLeads = (): void => {
  const { leading, term } = elector.health();
  if (leading) report("leader", { election, term, candidateId: elector.candidateId });
};
elector.on("startedLeading", sayWhoLeads);
const everyMinute = setInterval(sayWhoLeads, 60_000);

try {
  // What the leader does goes here, in steps that look at the signal.
  await elector.run(
    async ({ signal }) => {
      while (!signal.aborted) await delay(1_000, undefined, { signal });
    },
    { signal: stopping },
  );
} finally {
  clearInterval(everyMinute);
}
