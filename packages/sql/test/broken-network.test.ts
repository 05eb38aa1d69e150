import { expect } from "vitest";
import { LIMITS } from "@leasehold/test-kit/acquisitions";
import { failureOf } from "@leasehold/test-kit/failure";
import { describeDatabases, SERVERS } from "./sql-world.ts";

await describeDatabases(SERVERS, (test) => {
  test("a call to a server that does not answer ends in time, and the next call has a new connection", async ({ world }) => {
    const { proxy, url } = await world.network();
    const store = world.store(url);
    const lease = await world.win(store);
    proxy.loseReplies();
    await expect(store.read(world.election, { timeoutMs: 200 })).rejects.toMatchObject({
      code: "STORE_TIMEOUT",
      mayHaveBeenApplied: false,
    });
    await expect(store.renew(lease, { timeoutMs: 200 })).rejects.toMatchObject({
      code: "STORE_TIMEOUT",
      mayHaveBeenApplied: true,
    });
    proxy.heal();
    await expect(store.renew(lease, LIMITS)).resolves.toMatchObject({ held: true });
  });

  test("a long outage keeps no connection from later calls", async ({ world }) => {
    const { proxy, url } = await world.network();
    const store = world.store(url);
    const lease = await world.win(store);
    const release = proxy.holdRequests();
    for (let tries = 0; tries < 20; tries += 1) {
      await expect(store.read(world.election, { timeoutMs: 20 })).rejects.toMatchObject({ code: "STORE_TIMEOUT" });
    }
    release();
    await expect
      .poll(() => store.renew(lease, LIMITS).catch((error: unknown) => error))
      .toMatchObject({
        held: true,
      });
  });

  test("a lease can be renewed after the server was frozen for a moment", async ({ world }) => {
    const store = world.store();
    const lease = await world.win(store);
    await world.daemon.pause();
    try {
      for (let tries = 0; tries < 4; tries += 1) {
        await expect(store.renew(lease, { timeoutMs: 100 })).rejects.toMatchObject({ code: "STORE_TIMEOUT" });
      }
    } finally {
      world.daemon.resume();
    }
    await expect.poll(() => store.renew(lease, LIMITS).catch((error: unknown) => error)).toMatchObject({ held: true });
    await expect.poll(() => world.busy()).toEqual([]);
  });

  test("an acquisition whose reply is lost after the commit counts", async ({ world }) => {
    const { proxy, url } = await world.network();
    const store = world.store(url);
    await (await world.win(world.store()), world.store().break(world.election, { reason: "r", immediate: true }));
    await store.read(world.election);
    proxy.loseReplies();
    const acquisition = store.acquire({
      election: world.election,
      candidateId: "b",
      leaseDurationMs: 15_000,
      renewIntervalMs: 5_000,
      timeoutMs: 3_000,
    });
    await proxy.waitForReplies();
    // A read after the first request's time-out shows the write. The elector then writes once more.
    await expect.poll(async () => (await world.leaseRow())?.["term"]).toBe(2);
    proxy.heal();
    const outcome = await acquisition;
    expect(outcome).toMatchObject({ acquired: true, lease: { term: 2 } });
    if (outcome.acquired) await expect(store.renew(outcome.lease, LIMITS)).resolves.toMatchObject({ held: true });
  });

  test("a renewal whose reply is lost after the commit counts once a later one is acknowledged, from that one's send", async ({
    world,
  }) => {
    const { proxy, url } = await world.network();
    const store = world.store(url);
    const lease = await world.win(store);
    const before = await world.leaseRow();
    proxy.loseReplies();
    await expect(store.renew(lease, { timeoutMs: 2_000 })).rejects.toMatchObject({
      code: "STORE_TIMEOUT",
      mayHaveBeenApplied: true,
    });
    expect((await world.leaseRow())?.["nonce"]).not.toBe(before?.["nonce"]);
    const arrived = (await world.leaseRow())?.["nonce"];
    proxy.heal();
    const sentMs = performance.now();
    const outcome = await store.renew(lease, LIMITS);
    expect(outcome).toMatchObject({ held: true });
    expect((await world.leaseRow())?.["nonce"]).not.toBe(arrived);
    const extendedMs = outcome.held ? (outcome.extendedAt?.monotonicMs ?? 0) : 0;
    expect(extendedMs).toBeGreaterThanOrEqual(sentMs);
  });

  test("a connection that is reset in the middle of a statement fails that call only", async ({ world }) => {
    const { proxy, url } = await world.network();
    const store = world.store(url);
    const lease = await world.win(store);
    proxy.loseReplies();
    const renewal = failureOf(store.renew(lease, LIMITS));
    await proxy.waitForReplies();
    proxy.cut();
    await expect(renewal).resolves.toMatchObject({ code: "STORE_UNAVAILABLE", mayHaveBeenApplied: true });
    // While no connection can be made, nothing is sent.
    await expect(store.read(world.election)).rejects.toMatchObject({ code: "STORE_UNAVAILABLE", mayHaveBeenApplied: false });
    proxy.heal();
    await expect(store.renew(lease, LIMITS)).resolves.toMatchObject({ held: true });
  });
});
