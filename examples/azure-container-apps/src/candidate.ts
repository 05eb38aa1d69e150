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
  // Azure will kill a task that does not stop. Exit now, so that a standby takes over sooner.
  onOverrun: "exit",
  logger: console,
});

// The alert for a missing leader goes off if no replica prints this for 15 minutes.
const sayWhoLeads = (): void => {
  const { leading, term } = elector.health();
  if (leading) report("leader", { election, term, candidateId: elector.candidateId });
};
elector.on("startedLeading", sayWhoLeads);
const everyMinute = setInterval(sayWhoLeads, 60_000);

try {
  // Put the leader's work here, in steps that check the signal.
  await elector.run(
    async ({ signal }) => {
      while (!signal.aborted) await delay(1_000, undefined, { signal });
    },
    { signal: stopping },
  );
} finally {
  clearInterval(everyMinute);
}
