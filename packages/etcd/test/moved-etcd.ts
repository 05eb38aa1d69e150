import { once } from "node:events";
import { Agent, createServer, request, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { pipeline } from "node:stream/promises";
import { setTimeout as delay } from "node:timers/promises";
import type { Json } from "@leasehold/etcd";

/** The time by which a lease at etcd itself lasts longer than was asked for. So etcd never ends a lease during a test. */
const LONGER_S = 3_600;
/** The longest time for a watch to show a lease's end. */
const HEARD_MS = 20;

/** A gateway of an etcd whose leases end by a clock that a test moves. */
export interface MovedEtcd extends AsyncDisposable {
  readonly url: string;
  /** Moves the clock, and ends the leases that have run out by then. The clock also runs by itself. */
  advance(ms: number): Promise<void>;
}

interface MovedLease {
  readonly ttlS: number;
  untilMs: number;
}

/**
 * Starts a gateway in front of etcd's own. It measures the leases' time, and revokes a lease that has run out. etcd does the same
 * by its own clock. All other requests are passed on unchanged.
 */
export async function startMovedEtcd(etcdUrl: string): Promise<MovedEtcd> {
  const agent = new Agent({ keepAlive: true });
  const leases = new Map<string, MovedLease>();
  let movedMs = 0;
  const nowMs = (): number => performance.now() + movedMs;

  const send = async (path: string, body: string, headers: IncomingHttpHeaders = {}): Promise<IncomingMessage> => {
    const { "content-length": _length, host: _host, connection: _connection, ...rest } = headers;
    const sent = request(new URL(path, etcdUrl), {
      method: "POST",
      agent,
      headers: { ...rest, "content-length": Buffer.byteLength(body) },
    });
    sent.end(body);
    const [response] = (await once(sent, "response")) as [IncomingMessage];
    return response;
  };

  const endLeases = async (): Promise<number> => {
    const over = [...leases]
      .filter(([, { untilMs }]) => untilMs <= nowMs())
      .toSorted(([, one], [, other]) => one.untilMs - other.untilMs);
    for (const [id] of over) {
      // Two requests may find the same lease at once.
      if (leases.delete(id)) await text(await send("/v3/lease/revoke", JSON.stringify({ ID: id })));
    }
    return over.length;
  };

  const serve = async (incoming: IncomingMessage, response: ServerResponse): Promise<void> => {
    const path = incoming.url ?? "";
    const given = await text(incoming);
    await endLeases();
    if (!path.startsWith("/v3/lease/")) {
      const answer = await send(path, given, incoming.headers);
      // A watch ends with its client.
      response.once("close", () => answer.destroy());
      response.writeHead(answer.statusCode ?? 0, answer.headers);
      response.flushHeaders();
      await pipeline(answer, response);
      return;
    }
    const body = JSON.parse(given) as Json;
    const id = String(body["ID"]);
    const asked = path === "/v3/lease/grant" ? { ...body, TTL: String(Number(body["TTL"]) + LONGER_S) } : body;
    const answer = await send(path, JSON.stringify(asked), incoming.headers);
    const [line = ""] = (await text(answer)).split("\n");
    const ttlS = answer.statusCode === 200 ? shownTtl(path, id, body) : undefined;
    response.writeHead(answer.statusCode ?? 0, { "content-type": "application/json" });
    response.end(ttlS === undefined ? line : withTtl(JSON.parse(line) as Json, ttlS));
  };

  /** Returns the time of a lease as etcd would have shown it; `undefined` if it has no lease of that number. */
  const shownTtl = (path: string, id: string, body: Json): number | undefined => {
    if (path === "/v3/lease/grant") leases.set(id, { ttlS: Number(body["TTL"]), untilMs: 0 });
    if (path === "/v3/lease/revoke") leases.delete(id);
    const lease = leases.get(id);
    if (!lease) return undefined;
    if (path === "/v3/lease/timetolive") return Math.floor((lease.untilMs - nowMs()) / 1_000);
    lease.untilMs = nowMs() + lease.ttlS * 1_000;
    return lease.ttlS;
  };

  const server = createServer((incoming, response) => {
    // A request that cannot be passed on is closed, as by a network.
    serve(incoming, response).catch(() => response.destroy());
  });
  server.keepAliveTimeout = 0;
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async advance(ms) {
      movedMs += ms;
      if ((await endLeases()) > 0) await delay(HEARD_MS);
    },
    async [Symbol.asyncDispose]() {
      server.close();
      server.closeAllConnections();
      agent.destroy();
      await Promise.resolve();
    },
  };
}

/** Returns a reply in which a lease has this many seconds left. A lease that is gone at etcd stays gone. */
function withTtl(reply: Json, ttlS: number): string {
  const inner = (reply["result"] as Json | undefined) ?? reply;
  const told = Number(inner["TTL"] ?? 0) > 0 ? { ...inner, TTL: String(ttlS) } : inner;
  return JSON.stringify(reply["result"] === undefined ? told : { result: told });
}
