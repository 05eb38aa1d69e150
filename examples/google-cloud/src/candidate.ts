import { createServer } from "node:http";
import { setTimeout as delay } from "node:timers/promises";
import { Elector } from "@leasehold/core";
import { publishMetrics } from "@leasehold/core/diagnostics";
import { openStore, setting } from "./store.ts";

const elector = new Elector({
  store: openStore(),
  election: setting("ELECTION"),
  // Cloud Run kills an instance 10 s after SIGTERM.
  drainTimeoutMs: Number(setting("DRAIN_TIMEOUT_MS")),
  // Cloud Run will kill a task that does not stop. Exit now, so that a standby takes over sooner.
  onOverrun: "exit",
});

// Cloud Run restarts an instance that no longer answers. The answer does not depend on the store, because an outage is no reason to.
const health = createServer((_request, response) => {
  response.setHeader("content-type", "application/json");
  response.end(JSON.stringify(elector.health()));
}).listen(Number(setting("HEALTH_PORT")));

const stop = new AbortController();
process.on("SIGTERM", () => stop.abort());

// The alerts count these lines: one a minute, and one at each start and end of a term.
const metrics = publishMetrics(elector);
try {
  // Put the leader's work here, in steps that check the signal.
  await elector.run(
    async ({ signal }) => {
      while (!signal.aborted) await delay(1_000, undefined, { signal });
    },
    { signal: stop.signal },
  );
} finally {
  metrics.stop();
  health.close();
}
