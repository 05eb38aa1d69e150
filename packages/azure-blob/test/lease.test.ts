import type { LeaseStore, StoreError } from "@leasehold/core";
import type { AcquireRequest, Lease } from "@leasehold/core/provider";
import { acquiring, ELECTION, LEASE_MS, LIMITS } from "@leasehold/test-kit/acquisitions";
import type { AzureReply } from "@leasehold/test-kit/simulated/azure-service";
import { beforeEach, describe, expect, it } from "vitest";
import { OneLease } from "./one-lease.ts";
import { refusal } from "./virtual-azure.ts";

describe("a lease of a blob", () => {
  let azure: OneLease["azure"];
  let a: OneLease["a"];
  let b: OneLease["b"];
  let win: OneLease["win"];
  let asking: OneLease["asking"];

  beforeEach(() => {
    ({ azure, a, b, win, asking } = new OneLease());
  });

  it("has capabilities", () => {
    expect(a.store.capabilities).toEqual({
      expiry: "native",
      watch: "poll",
      minLeaseMs: 15_000,
      maxLeaseMs: 60_000,
      leaseGranularityMs: 1_000,
      maxValueBytes: 2_048,
      fence: "after-seal",
      transfer: { drain: "remaining-lease" },
      storeClock: undefined,
      reservation: { toleranceMs: 2_000 },
      list: true,
    });
    expect(a.store.records).toBe(a.store.records);
  });

  it.each<readonly [Partial<AcquireRequest>, RegExp]>([
    [{ election: "" }, /election/],
    [{ candidateId: "" }, /candidateId/],
    [{ value: "x".repeat(2_049) }, /value/],
    [{ leaseDurationMs: 14_000 }, /15,000 to 60,000 ms/],
    [{ leaseDurationMs: 61_000 }, /15,000 to 60,000 ms/],
    [{ leaseDurationMs: 15_500 }, /in whole seconds/],
    [{ minTerm: -1 }, /minTerm/],
    [{ reservation: { group: "", durationMs: 1_000 } }, /reservation/],
  ])("is refused before any request if it is requested with %j", async (wishes, message) => {
    const [sent, error] = await asking(a, (store) => store.acquire(acquiring(wishes)));
    expect(sent).toEqual([]);
    expect(error).toMatchObject({ code: "CONFIGURATION", message });
  });

  it("without a name is refused without a request", async () => {
    const calls: ReadonlyArray<(store: LeaseStore) => Promise<unknown>> = [
      (store: LeaseStore) => store.read(""),
      (store: LeaseStore) => store.check({ election: "" }),
      async (store: LeaseStore) => store.occurrences?.("", { retentionMs: 1 }),
      async (store: LeaseStore) => store.occurrences?.("e", { retentionMs: 0 }),
      (store: LeaseStore) => store.publish({} as Lease, "x".repeat(2_049), LIMITS),
      (store: LeaseStore) => store.renew({ election: "e" } as Lease, LIMITS),
    ];
    for (const call of calls) expect(await asking(a, call)).toMatchObject([[], { code: "CONFIGURATION" }]);
  });

  it("has one limit for a read, five seconds by default", async () => {
    a.onRequest = async () => await new Promise(() => {});
    for (const [options, ms] of [
      [{ timeoutMs: 400 }, 400],
      [{}, 5_000],
    ] as const) {
      const startMs = azure.clock.monotonicMs();
      const [, error] = await asking(a, (store) => store.read(ELECTION, options));
      expect(error).toMatchObject({ code: "STORE_TIMEOUT", mayHaveBeenApplied: false });
      expect(azure.clock.monotonicMs() - startMs).toBe(ms);
    }
  });

  it.each<readonly [string, (lease: Lease) => Promise<unknown>]>([
    ["publication", (lease) => a.store.publish(lease, "x", { timeoutMs: 1_000 })],
    ["release with a hold", (lease) => a.store.release(lease, { timeoutMs: 1_000, holdMs: 9_000 })],
  ])("has one time limit for all requests of a %s", async (_, call) => {
    const lease = await win();
    const startMs = azure.clock.monotonicMs();
    // The write finds another ETag after a while, and the read for the reason is never answered.
    a.onRequest = async ({ name }) => {
      if (name !== "metadata") return await new Promise(() => {});
      await new Promise<void>((resolve) => void azure.clock.setTimer(resolve, 600));
      return refusal(412, "ConditionNotMet");
    };
    expect((await asking(a, () => call(lease)))[1]).toMatchObject({ code: "STORE_TIMEOUT" });
    expect(azure.clock.monotonicMs() - startMs).toBe(1_000);
  });

  describe("is read", () => {
    it("as no longer its process's once only the wall clock shows that it has run out", async () => {
      await win();
      // The machine was suspended. Meanwhile another candidate acquired, and died before it wrote its term.
      const lease = b.container.getBlobClient(ELECTION).getBlobLeaseClient("11111111-0000-4000-8000-000000000000");
      azure.clock.suspend(LEASE_MS + 1);
      await lease.acquireLease(15);
      expect(await azure.run(a.store.read(ELECTION))).toMatchObject({ state: "unknown" });
    });

    it("with its last terms, and how each ended, at no further request", async () => {
      const history = async (): Promise<readonly object[] | undefined> => (await azure.run(b.store.read(ELECTION)))?.history;
      const nameOf = { a, b } as const;
      const lead = async (id: keyof typeof nameOf): Promise<Lease> => {
        await azure.run(nameOf[id].store.read(ELECTION));
        return await win(nameOf[id], { candidateId: id });
      };
      await azure.run(a.store.release(await lead("a"), LIMITS));
      await lead("b");
      await azure.clock.advance(LEASE_MS);
      const third = await lead("a");
      expect(await history()).toMatchObject([
        { term: 1, candidateId: "a", end: "released" },
        { term: 2, candidateId: "b", end: "expired" },
        { term: 3, candidateId: "a" },
      ]);
      expect((await history())?.at(-1)).not.toHaveProperty("end");
      await azure.run(a.store.release(third, { ...LIMITS, holdMs: 1_000 }));
      expect((await history())?.at(-1)).toMatchObject({ end: "released", untilMs: azure.clock.wallMs() });
      await azure.clock.advance(1_000);
      await lead("b");
      await azure.run(a.store.break(ELECTION, { reason: "stuck", immediate: true }));
      expect((await history())?.at(-1)).toMatchObject({ term: 4, end: "broken" });
    });

    it.each(["released", "expired"] as const)("with its last terms although an order was given after one %s", async (end) => {
      const lease = await win(a, { candidateId: "a" });
      if (end === "released") await azure.run(a.store.release(lease, LIMITS));
      else await azure.clock.advance(LEASE_MS);
      await azure.run(b.store.transfer(ELECTION, "b", { transferTimeoutMs: 60_000, timeoutMs: 1_000 })).catch(() => undefined);
      await azure.run(b.store.break(ELECTION, { reason: "stuck" }));
      expect((await azure.run(b.store.read(ELECTION)))?.history).toMatchObject([{ term: 1, candidateId: "a", end }]);
    });

    it("as a foreign record if its metadata is not a lease's, and is not remembered", async () => {
      await win();
      await azure.run(b.store.read(ELECTION));
      azure.service.overwrite(ELECTION, { leasehold_schema: "2" });
      expect((await asking(b, (store) => store.read(ELECTION)))[1]).toMatchObject({
        code: "FOREIGN_RECORD",
        message: /the blob 'nightly-billing' in container 'leases'.*schema/,
      });
      expect((await asking(b, (store) => store.acquire(acquiring())))[0]).toEqual(["head"]);
    });

    it("again after a random part of the retry period if there is no aim", async () => {
      azure.clock.random = () => 0.5;
      expect(b.store.nextLookMs(ELECTION, 2_000)).toBeCloseTo(1_800, 6);
      const lease = await win();
      await azure.run(b.store.read(ELECTION));
      expect(b.store.nextLookMs(ELECTION, 2_000)).not.toBeCloseTo(1_800, 6);
      await azure.run(a.store.release(lease, LIMITS));
      await azure.run(b.store.read(ELECTION));
      expect(b.store.nextLookMs(ELECTION, 2_000)).toBeCloseTo(1_800, 6);
    });

    it("and remembered for twice the longest wait for the next read", async () => {
      await azure.run(a.store.release(await win(), LIMITS));
      await azure.run(b.store.read(ELECTION));
      const hourMs = 3_600_000;
      b.store.nextLookMs(ELECTION, 5 * hourMs);
      await azure.clock.advance(9 * hourMs);
      for (const election of ["x", "y", "z"]) await azure.run(b.store.read(election));
      expect((await asking(b, (store) => store.acquire(acquiring())))[0]).toEqual(["lease:acquire", "metadata"]);
    });

    it("with the note beside it only if its lease is breaking or broken", async () => {
      await win();
      expect((await asking(b, (store) => store.read(ELECTION)))[0]).toEqual(["head"]);
      await azure.run(b.store.break(ELECTION, { reason: "over" }));
      for (const state of ["ending", "expired"]) {
        expect(await asking(b, (store) => store.read(ELECTION))).toMatchObject([
          ["head", "note:head"],
          { state, endingReason: "over" },
        ]);
        await azure.clock.advance(LEASE_MS);
      }
      const next = await win(b);
      await azure.run(b.store.release(next, LIMITS));
      expect((await asking(b, (store) => store.read(ELECTION)))[0]).toEqual(["head"]);
      // A note for an older term is not used.
      await win(b);
      await b.container.getBlobClient(ELECTION).getBlobLeaseClient().breakLease(60);
      expect((await asking(a, (store) => store.read(ELECTION)))[1]).not.toHaveProperty("endingReason");
    });
  });

  describe("is proved to be writable", () => {
    it.each<readonly [string, AzureReply | undefined, string | undefined]>([
      ["refuses the condition", refusal(412, "ConditionNotMet"), undefined],
      ["has no blob", refusal(404, "BlobNotFound"), undefined],
      ["has no container, which may be made", refusal(404, "ContainerNotFound"), undefined],
      ["refuses the caller", refusal(403, "AuthorizationPermissionMismatch"), "STORE_DENIED"],
      ["has it carried out", undefined, "CONFIGURATION"],
      ["is a stranger", { status: 412, headers: {} }, "STORE_CONFLICT"],
    ])("by a write that cannot be carried out, if the service %s", async (_, reply, code) => {
      await azure.run(a.store.release(await win(), LIMITS));
      const before = azure.service.metadata(ELECTION);
      let condition: string | undefined;
      a.onRequest = ({ name, header }, send) => {
        if (name !== "metadata") return send();
        condition = header("if-match");
        return reply ?? { status: 200, headers: { "x-ms-request-id": "r", etag: "1" } };
      };
      const [sent, outcome] = await asking(a, (store) => store.check({ election: ELECTION }));
      expect(sent).toEqual(["head", "metadata"]);
      if (code === undefined) expect(outcome).not.toBeInstanceOf(Error);
      else expect((outcome as StoreError).code).toBe(code);
      expect(condition).toBe('"0x0"');
      expect(azure.service.metadata(ELECTION)).toEqual(before);
    });

    it("not in a missing container that may not be created", async () => {
      const c = azure.connect({ createContainer: false });
      expect((await asking(c, (store) => store.check({ election: ELECTION })))[1]).toMatchObject({ code: "STORE_MISSING" });
    });
  });
});
