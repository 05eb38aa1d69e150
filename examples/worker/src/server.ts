import { setTimeout as delay } from "node:timers/promises";
import type { Elector } from "@leasehold/core";
import Fastify from "fastify";
import type { Logger } from "pino";

// Probes come every few seconds, so do not log them.
const quiet = { logLevel: "silent" } as const;

/** Answers requests, as leader or as standby. No request waits for the store, so an outage delays none. */
export function createServer(elector: Elector, log: Logger, stopping: AbortSignal) {
  const server = Fastify({ loggerInstance: log });

  // Otherwise the connection stays open after its answer until the client closes it, perhaps after a minute.
  server.addHook("onSend", (_request, reply, _payload, done) => {
    if (stopping.aborted) reply.header("connection", "close");
    done();
  });

  // Fails only if this process needs a restart. It does not depend on the store, because an outage would restart all processes.
  server.get("/health/live", quiet, () => elector.health());

  // Tells whether this process may get requests. A standby may, and so may a process that lost contact to the store. A process
  // that has never reached the store may not. A deployment with a wrong password stops here, and the former version continues.
  server.get("/health/ready", quiet, (_request, reply) => {
    const health = elector.health();
    reply.code(health.lastContactAgeMs === undefined ? 503 : 200);
    return health;
  });

  // `leading` is true at this moment. `seen` is the leader that this process observed last.
  server.get("/leader", () => ({
    candidateId: elector.candidateId,
    leading: elector.isLeader,
    seen: elector.leader ?? null,
  }));

  // A slow request, to show that it is answered while the process stops.
  server.get<{ Querystring: { ms?: string } }>("/slow", async ({ query: { ms = "3000" } }) => {
    await delay(Number(ms));
    return { answered: true };
  });

  return server;
}
