import { MemoryLeaseStore } from "@leasehold/core";
import { MemoryRecordStore } from "@leasehold/core/provider";
import { VirtualClock } from "@leasehold/core/testing";
import { beforeEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { ServedElector } from "../src/serve/candidate.ts";
import { Connection } from "./polled-store.ts";
import { ELECTION, Sidecar, TOKEN } from "./sidecar.ts";

const LEASE_MS = 15_000;

let clock: VirtualClock;
let store: MemoryLeaseStore;

beforeEach(() => {
  clock = new VirtualClock();
  store = new MemoryLeaseStore({ clock });
});

/** Starts a leader and a standby, each with its own connection. */
async function pair(): Promise<
  AsyncDisposable & { readonly a: Sidecar; readonly b: Sidecar; readonly toB: Connection; readonly toA: Connection }
> {
  const service = new MemoryRecordStore(clock);
  const [toA, toB] = [new Connection(service), new Connection(service)];
  const a = await new Sidecar("a", toA.store(clock), clock).start();
  const b = await new Sidecar("b", toB.store(clock), clock).start();
  // The standby has observed a renewal.
  await clock.advance(LEASE_MS / 2);
  return {
    a,
    b,
    toA,
    toB,
    [Symbol.asyncDispose]: async () => {
      await b[Symbol.asyncDispose]();
      await a[Symbol.asyncDispose]();
    },
  };
}

test("an error of the server itself is answered with its message, and the server goes on", async () => {
  onTestFinished(() => void vi.restoreAllMocks());
  await using a = await new Sidecar("a", store, clock).start();
  vi.spyOn(ServedElector.prototype, "view").mockImplementationOnce(() => {
    throw new Error("a fault");
  });
  const path = `/elections/${ELECTION}`;
  expect(await a.ask(path)).toMatchObject({ status: 500, body: expect.stringContaining("a fault") });
  expect(await a.statuses(path)).toEqual([200]);
});

describe("a load balancer's paths", () => {
  test("are 200 on one host and 503 on the other", async () => {
    await using world = await pair();
    expect(await world.a.statuses("/leader")).toEqual([200]);
    expect(await world.b.statuses("/leader")).toEqual([503]);
  });

  test.each(["GET", "HEAD", "OPTIONS"])("answer %s in the same way, also without a Host header", async (method) => {
    await using a = await new Sidecar("a", store, clock).start();
    for (const setHost of [true, false]) {
      const { status, body, headers } = await a.ask("/leader", { method, setHost });
      expect([status, body !== ""]).toEqual([200, method === "GET"]);
      expect(headers["allow"]).toBe(method === "OPTIONS" ? "GET, HEAD, OPTIONS" : undefined);
    }
  });

  test("answer 503 at once when a frozen leader goes on after its lease", async () => {
    await using a = await new Sidecar("a", store, clock).start();
    expect(await a.statuses("/leader", "/")).toEqual([200, 200]);
    clock.freeze(LEASE_MS);
    // No timer has run since the freeze.
    expect(await a.statuses("/leader", "/")).toEqual([503, 503]);
    expect((await a.ask("/metrics")).body).toContain(`leasehold_leader{election="${ELECTION}"} 0\n`);
  });

  test("answer 503 while a leader is stopping", async () => {
    const work = Promise.withResolvers<void>();
    await using a = await new Sidecar("a", store, clock).start(undefined, () => work.promise);
    a.stop();
    expect(await a.statuses("/leader", "/readyz", "/livez")).toEqual([503, 503, 200]);
    work.resolve();
  });

  test("answer 503, and the name is gone, once the lease is over, even if the task goes on", async () => {
    const work = Promise.withResolvers<void>();
    const connection = new Connection(new MemoryRecordStore(clock));
    await using a = await new Sidecar("a", connection.store(clock), clock).start(undefined, () => work.promise);
    connection.isCut = true;
    // The last read was less than a lease ago.
    await clock.advance(14_000);
    expect(await a.statuses("/leader", "/")).toEqual([503, 503]);
    work.resolve();
  });
});

describe("GET /", () => {
  test("is the name of the leader, as the leader-elector of Kubernetes answers", async () => {
    await using world = await pair();
    expect((await world.a.ask("/")).body).toBe('{"name":"a"}\n');
    expect((await world.b.ask("/")).body).toBe('{"name":"a"}\n');
  });

  test("is empty if nobody leads, and 503 if this process cannot tell", async () => {
    await using world = await pair();
    const standingBack = world.a.candidates[0]?.elector.resign();
    await clock.runUntil(standingBack ?? Promise.resolve());
    expect((await world.a.ask("/")).body).toBe('{"name":""}\n');
    // It has read of a leader, but cannot tell yet whether that one still leads.
    await using c = await new Sidecar("c", world.toB.store(clock), clock).start();
    await clock.advance(LEASE_MS);
    world.toA.isCut = true;
    world.toB.isCut = true;
    await clock.advance(2 * LEASE_MS);
    expect([...(await world.a.statuses("/")), ...(await world.b.statuses("/")), ...(await c.statuses("/"))]).toEqual([
      503, 503, 503,
    ]);
  });

  test("does not show the name of a leader that may be dead", async () => {
    await using world = await pair();
    world.toA.isCut = true;
    await using c = await new Sidecar("c", world.toB.store(clock), clock).start();
    expect((await c.ask("/")).status).toBe(503);
  });
});

describe("probes", () => {
  test("answer 200 during an outage of the store, and if another candidate leads", async () => {
    await using world = await pair();
    expect(await world.b.statuses("/livez", "/readyz")).toEqual([200, 200]);
    world.toB.isCut = true;
    await clock.advance(10 * LEASE_MS);
    expect(await world.b.statuses("/livez", "/readyz")).toEqual([200, 200]);
  });

  // A store that pushes may be silent for a lease, so the test goes on for longer.
  test.each([
    [15_000, 10_000, 20_000],
    [60_000, 62_000, 85_000],
  ])("answer 503 with a lease of %i ms if the reads of a campaign neither end nor fail", async (leaseDurationMs, alive, dead) => {
    const hanging = new Connection(new MemoryRecordStore(clock)).store(clock);
    hanging.read = () => new Promise(() => {});
    const a = await new Sidecar("a", hanging, clock, [ELECTION], { leaseDurationMs }).start();
    await clock.advance(alive);
    expect(await a.statuses("/livez")).toEqual([200]);
    await clock.advance(dead - alive);
    expect(await a.statuses("/livez", "/readyz")).toEqual([503, 503]);
  });

  test("answer 503 during an overrun", async () => {
    const work = Promise.withResolvers<void>();
    await using a = await new Sidecar("a", store, clock, [ELECTION, "other"], { drainTimeoutMs: 1_000 }).start(
      undefined,
      () => work.promise,
    );
    void a.candidates[0]?.elector.resign();
    await clock.advance(500);
    expect(await a.statuses("/livez")).toEqual([200]);
    await clock.advance(1_000);
    expect(await a.statuses("/livez")).toEqual([503]);
    work.resolve();
    await clock.advance(100);
    expect(await a.statuses("/livez")).toEqual([200]);
  });
});

describe("several elections", () => {
  test("have paths of their own, and no paths without a name", async () => {
    await using a = await new Sidecar("a", store, clock, ["one", "né/ß <b>"]).start();
    expect(await a.statuses("/", "/leader", "/livez", "/readyz", "/metrics", "/elections")).toEqual([
      404, 404, 200, 200, 200, 200,
    ]);
    const odd = `/elections/${encodeURIComponent("né/ß <b>")}`;
    expect(await a.statuses("/elections/one/leader", `${odd}/leader`)).toEqual([200, 200]);
    expect((await a.ask(odd)).json).toMatchObject({ election: "né/ß <b>", leading: true });
    expect(await a.statuses("/elections/two", "/elections/%ff", "/elections/one/other", "/elections/")).toEqual([
      404, 404, 404, 404,
    ]);
    expect((await a.post("/resign")).status).toBe(404);
    expect((await a.post("/elections/one/checkpoint")).status).toBe(204);
    expect(a.checkpoints).toEqual(["one"]);
  });

  test("and one alone are described", async () => {
    await using world = await pair();
    expect((await world.b.ask("/elections")).json).toEqual({
      elections: [
        {
          election: ELECTION,
          candidateId: "b",
          state: "standby",
          leading: false,
          leader: { candidateId: "a", term: 1 },
          known: true,
          validForMs: 0,
          leaseAgeMs: expect.any(Number),
          leaseDurationMs: LEASE_MS,
          changedMs: LEASE_MS / 2 + 100,
          // The record says since when it leads, 100 ms before this candidate started.
          terms: [{ term: 1, candidateId: "a", sinceMs: LEASE_MS / 2 + 200 }],
          alive: true,
          store: { lastContactAgeMs: expect.any(Number) },
        },
      ],
    });
  });
});

describe("changes", () => {
  test("need the token", async () => {
    await using a = await new Sidecar("a", store, clock).start();
    expect((await a.ask("/resign", { method: "POST" })).status).toBe(401);
    expect((await a.post("/resign", { origin: "http://evil.example" })).status).toBe(403);
    expect(await a.statuses("/leader")).toEqual([200]);

    expect((await a.post("/checkpoint")).status).toBe(204);
    const resigned = a.post("/resign");
    await clock.runUntil(resigned);
    expect(await resigned).toMatchObject({ status: 200, json: { resigned: 1 } });
    expect(await a.statuses("/leader")).toEqual([503]);
    expect((await a.post("/resign")).status).toBe(409);
    expect((await a.post("/checkpoint")).status).toBe(409);
  });

  test("take POST, and no other method or path", async () => {
    await using a = await new Sidecar("a", store, clock).start();
    expect((await a.ask("/resign")).headers["allow"]).toBe("POST");
    expect((await a.ask("/resign")).status).toBe(405);
    expect((await a.post("/leader")).headers["allow"]).toBe("GET, HEAD, OPTIONS");
    for (const path of ["/leader", "/resign", "/events"]) {
      const { status, headers } = await a.ask(path, { method: "DELETE", headers: { authorization: `Bearer ${TOKEN}` } });
      expect([status, headers["allow"]]).toEqual([405, "GET, HEAD, OPTIONS, POST"]);
    }
    expect(await a.statuses("/leader")).toEqual([200]);
    expect((await a.post("/elsewhere")).status).toBe(404);
  });
});

describe("every answer", () => {
  test("says what a browser may do with it, and allows no other site anything", async () => {
    await using a = await new Sidecar("a", store, clock).start();
    for (const path of ["/", "/leader", "/elections", "/metrics", "/dashboard.js", "/nothing"]) {
      const { headers } = await a.ask(path, { headers: { origin: a.url } });
      expect(headers["content-security-policy"]).toMatch(/^default-src 'none'; script-src 'self'; .*frame-ancestors 'none'$/);
      expect(headers).toMatchObject({ "x-content-type-options": "nosniff", "cache-control": "no-store" });
      expect(Object.keys(headers).filter((name) => /^access-control|cookie/.test(name))).toEqual([]);
    }
  });

  test("is refused under a host name that is not served here", async () => {
    await using a = await new Sidecar("a", store, clock).start();
    const { status, body } = await a.ask("/elections", { headers: { host: "evil.example" } });
    expect(status).toBe(403);
    expect(body).toContain("--http-host");
  });

  test("is the page if a request for the root accepts HTML", async () => {
    await using a = await new Sidecar("a", store, clock).start();
    const { headers, body } = await a.ask("/", { headers: { accept: "text/html,application/xhtml+xml,*/*;q=0.8" } });
    expect(headers["content-type"]).toBe("text/html; charset=utf-8");
    expect(body).toContain("<!doctype html>");
  });

  test("has the type of its file, because a browser refuses a script or a style of another type", async () => {
    await using a = await new Sidecar("a", store, clock).start();
    const typeOf = async (path: string): Promise<unknown> => (await a.ask(path)).headers["content-type"];
    expect(await typeOf("/dashboard.html")).toBe("text/html; charset=utf-8");
    expect(await typeOf("/dashboard.css")).toBe("text/css; charset=utf-8");
    for (const script of ["/dashboard.js", "/elements.js", "/fleets.js"]) {
      expect(await typeOf(script)).toBe("text/javascript; charset=utf-8");
    }
  });

  test("ends with the server, which does not listen after its disposal", async () => {
    const a = await new Sidecar("a", store, clock).start();
    await a[Symbol.asyncDispose]();

    await expect(a.ask("/leader")).rejects.toMatchObject({ code: "ECONNREFUSED" });
  });
});
