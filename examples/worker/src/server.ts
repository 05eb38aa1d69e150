import { setTimeout as delay } from "node:timers/promises";
import type { Elector } from "@leasehold/core";
import Fastify from "fastify";
import type { Logger } from "pino";

// Probes come every few seconds, and are not worth a line.
const quiet = { logLevel: "silent" } as const;

/** What this process answers, whether it leads or not. Nothing here asks the store: an outage makes no request wait. */
export function createServer(elector: Elector, log: Logger, stopping: AbortSignal) {
  const server = Fastify({ loggerInstance: log });

  // Else the connection of a request that is answered meanwhile stays open until its client gives it up: a minute, maybe.
  server.addHook("onSend", (_request, reply, _payload, done) => {
    if (stopping.aborted) reply.header("connection", "close");
    done();
  });

  // Is this process beyond help? Never because the store is out of reach: that would restart all of them.
  server.get("/health/live", quiet, () => elector.health());

  // May it get requests? A standby may, and one that is cut off from the store, too. One that has never reached the store
  // may not: a deployment with a wrong password ends here, while the former version goes on.
  server.get("/health/ready", quiet, (_request, reply) => {
    const health = elector.health();
    reply.code(health.lastContactAgeMs === undefined ? 503 : 200);
    return health;
  });

  // `leading` is true at this very moment; `seen` is whom this process saw lead last.
  server.get("/leader", () => ({
    candidateId: elector.candidateId,
    leading: elector.isLeader,
    seen: elector.leader ?? null,
  }));

  // A request that takes a while, to see that it is answered although the process stops.
  server.get<{ Querystring: { ms?: string } }>("/slow", async ({ query: { ms = "3000" } }) => {
    await delay(Number(ms));
    return { answered: true };
  });

  return server;
}
