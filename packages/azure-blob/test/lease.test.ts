import type { LeaseStore, StoreError } from "@leasehold/core";
import type { AcquireRequest, Lease } from "@leasehold/core/provider";
import { acquiring, ELECTION, LEASE_MS, LIMITS } from "@leasehold/test-kit/acquisitions";
import type { AzureReply } from "@leasehold/test-kit/simulated/azure-service";
import { beforeEach, describe, expect, it } from "vitest";
import { loseReply, refusal, VirtualAzure, type Connection } from "./virtual-azure.ts";

const LEFT_MS = 60_000;

describe("a lease of a blob", () => {
  let azure: VirtualAzure;
  let a: Connection;
  let b: Connection;

  beforeEach(() => {
    azure = new VirtualAzure();
    a = azure.connect();
    b = azure.connect();
  });

  async function win(by: Connection = a, wishes: Partial<AcquireRequest> = {}): Promise<Lease> {
    const outcome = await azure.run(by.store.acquire(acquiring(wishes)));
    if (!outcome.acquired) throw new Error(`It was not acquired: ${JSON.stringify(outcome)}`);
    return outcome.lease;
  }

  /** Returns the requests of a call, and its result. */
  async function asking<T>(by: Connection, call: (store: Connection["store"]) => Promise<T>): Promise<[string[], T | Error]> {
    by.sent.length = 0;
    const outcome = await azure.run(call(by.store).catch((error: unknown) => error as Error));
    return [[...by.sent], outcome];
  }

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

  it("may be as long as the service allows, and have a value of 2 KiB", async () => {
    for (const leaseDurationMs of [15_000, 60_000])
      await win(a, { election: `e${leaseDurationMs}`, leaseDurationMs, value: "x".repeat(2_048), minTerm: 1 });
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

  describe("is acquired", () => {
    it("with a term above all that were seen", async () => {
      let lease = await win(a, { minTerm: 5 });
      expect(lease).toMatchObject({ term: 5, leaseDurationMs: LEASE_MS, candidateId: "a" });
      for (const [wishes, term] of [
        [{ aboveTerm: 5 }, 6],
        [{ minTerm: 3 }, 7],
        [{ minTerm: 9 }, 9],
      ] as const) {
        await azure.run(a.store.release(lease, LIMITS));
        a.sent.length = 0;
        lease = await win(a, wishes);
        expect(lease.term).toBe(term);
        expect(a.sent).toEqual(["lease:acquire", "metadata"]);
      }
    });

    it("not if its term would be no higher than one that was seen, which a read finds out", async () => {
      await win();
      await azure.clock.advance(LEASE_MS + 1);
      const [sent, error] = await asking(a, (store) => store.acquire(acquiring({ aboveTerm: 2 })));
      expect(error).toMatchObject({ code: "TERM_REGRESSED", foundTerm: 1, highestTermSeen: 2 });
      expect(sent).toEqual(["head"]);
      expect(await asking(a, (store) => store.acquire(acquiring({ minTerm: Number.MAX_SAFE_INTEGER + 1 })))).toMatchObject([
        [],
        { code: "CONFIGURATION" },
      ]);
    });

    it("not if its term would exceed a number's range", async () => {
      await azure.run(a.store.release(await win(), LIMITS));
      const last = String(Number.MAX_SAFE_INTEGER);
      azure.service.overwrite(ELECTION, { ...azure.service.metadata(ELECTION), leasehold_term: last });
      await azure.run(a.store.read(ELECTION));
      expect(await asking(a, (store) => store.acquire(acquiring()))).toMatchObject([
        [],
        { code: "CONFIGURATION", message: /^the next term is 9007199254740992/ },
      ]);
    });

    it("after a read if the caller has a later term than was seen, and otherwise without one", async () => {
      await azure.run(a.store.release(await win(), LIMITS));
      await azure.run(b.store.release(await win(b), LIMITS));
      const [sent, outcome] = await asking(a, (store) => store.acquire(acquiring({ aboveTerm: 2 })));
      expect([sent, outcome]).toMatchObject([["head", "lease:acquire", "metadata"], { acquired: true, lease: { term: 3 } }]);
    });

    it("for as long as it is asked for, from before the first request", async () => {
      const sentMs = azure.clock.monotonicMs();
      a.onRequest = async (_, send) => {
        await new Promise<void>((resolve) => void azure.clock.setTimer(resolve, 200));
        return send();
      };
      const lease = await win(a, { leaseDurationMs: 20_000 });
      // Before that come the blob, the container, and the blob again.
      expect(a.sent).toEqual(["head", "put-blob", "create-container", "put-blob", "lease:acquire", "metadata"]);
      expect(lease.grantedAt.monotonicMs - sentMs).toBe(800);
      const { untilMs = 0 } = azure.service.leaseOf(ELECTION) ?? {};
      expect(untilMs - azure.clock.wallMs()).toBe(20_000 - 200);
    });

    it("by no other candidate while it lasts, and the refusal does not name the holder", async () => {
      await win();
      expect(await azure.run(b.store.read(ELECTION))).toMatchObject({ state: "unknown", holder: "a" });
      expect(await asking(b, (store) => store.acquire(acquiring()))).toEqual([["lease:acquire"], { acquired: false }]);
      await azure.clock.advance(LEASE_MS + 1);
      expect(await asking(b, (store) => store.acquire(acquiring()))).toMatchObject([
        ["lease:acquire", "metadata"],
        { acquired: true },
      ]);
    });

    it("not after another candidate's whole term that reserved the election: the lease is released", async () => {
      await azure.run(a.store.read(ELECTION));
      await azure.run(a.store.release(await win(), LIMITS));
      const theirs = await win(b, { reservation: { group: "west", durationMs: LEFT_MS } });
      await azure.run(b.store.release(theirs, LIMITS));
      const [sent, outcome] = await asking(a, (store) => store.acquire(acquiring()));
      expect([sent, outcome]).toEqual([["lease:acquire", "metadata", "head", "lease:release"], { acquired: false }]);
      expect(azure.service.leaseOf(ELECTION)).toBeUndefined();
    });

    it("above another candidate's whole term that came before", async () => {
      await azure.run(a.store.release(await win(), LIMITS));
      await azure.run(b.store.release(await win(b), LIMITS));
      const [sent, outcome] = await asking(a, (store) => store.acquire(acquiring()));
      expect(sent).toEqual(["lease:acquire", "metadata", "head", "metadata"]);
      expect(outcome).toMatchObject({ acquired: true, lease: { term: 3 } });
      expect(await asking(a, (store) => store.renew((outcome as { lease: Lease }).lease, LIMITS))).toMatchObject([
        ["lease:renew"],
        { held: true },
      ]);
    });

    it("also if the reply to the term's write is lost", async () => {
      a.onRequest = ({ name }, send) => (name === "metadata" ? loseReply(send) : send());
      const lease = await win();
      expect(a.sent.slice(-2)).toEqual(["metadata", "head"]);
      a.onRequest = (_, send) => send();
      expect(await asking(a, (store) => store.publish(lease, "x", LIMITS))).toEqual([["metadata"], { held: true }]);
      expect(azure.service.metadata(ELECTION)).toMatchObject({ leasehold_term: "1", leasehold_value: "x" });
    });

    it("not if the reply to its first request is lost: the lease is freed", async () => {
      await azure.run(a.store.read(ELECTION));
      a.onRequest = ({ name }, send) => (name === "lease:acquire" ? loseReply(send) : send());
      const [sent, error] = await asking(a, (store) => store.acquire(acquiring()));
      expect(sent.slice(-2)).toEqual(["lease:acquire", "lease:release"]);
      expect(error).toMatchObject({ operation: "acquire", mayHaveBeenApplied: true });
      expect(azure.service.leaseOf(ELECTION)).toBeUndefined();
    });

    it("not if the service refuses it, and then nothing has to be freed", async () => {
      await azure.run(a.store.read(ELECTION));
      a.onRequest = ({ name }, send) => (name === "lease:acquire" ? refusal(403, "AuthorizationFailure") : send());
      const [sent, error] = await asking(a, (store) => store.acquire(acquiring()));
      expect(sent).not.toContain("lease:release");
      expect(error).toMatchObject({ code: "STORE_DENIED" });
    });

    it("not if it is gone before its term is written; and it is freed if that write fails for another reason", async () => {
      for (const [reply, outcome] of [
        [refusal(412, "LeaseLost"), { acquired: false }],
        [refusal(403, "AuthorizationFailure"), { code: "STORE_DENIED", operation: "write-term" }],
        [refusal(404, "BlobNotFound"), { acquired: false }],
      ] as const) {
        await azure.run(a.store.read(ELECTION));
        a.onRequest = ({ name }, send) => (name === "metadata" ? reply : send());
        const [sent, result] = await asking(a, (store) => store.acquire(acquiring()));
        expect(sent.slice(-2)).toEqual(["metadata", "lease:release"]);
        expect(result).toMatchObject(outcome);
        expect(azure.service.leaseOf(ELECTION)).toBeUndefined();
      }
    });

    it("not if its blob has vanished since the last read, and the next attempt reads again", async () => {
      await azure.run(a.store.release(await win(), LIMITS));
      a.onRequest = ({ name }, send) => (name === "lease:acquire" ? refusal(404, "BlobNotFound") : send());
      expect(await asking(a, (store) => store.acquire(acquiring()))).toEqual([["lease:acquire"], { acquired: false }]);
      a.onRequest = (_, send) => send();
      expect((await asking(a, (store) => store.acquire(acquiring())))[0]).toEqual(["head", "lease:acquire", "metadata"]);
    });

    it("of a blob that vanishes while it is made is an error that names it", async () => {
      a.onRequest = ({ name }) => (name === "head" ? refusal(404, "BlobNotFound") : refusal(409, "BlobAlreadyExists"));
      const [sent, error] = await asking(a, (store) => store.acquire(acquiring()));
      expect(sent).toEqual(["head", "put-blob", "head"]);
      expect(error).toMatchObject({ code: "FOREIGN_RECORD", message: /it vanished right after it was created/ });
    });

    it("without a read if the last one showed no blob, and with one if another candidate has made the blob", async () => {
      expect(await azure.run(a.store.read(ELECTION))).toBeUndefined();
      expect(await azure.run(b.store.read(ELECTION))).toBeUndefined();
      expect((await asking(a, (store) => store.acquire(acquiring())))[0]).toEqual([
        "put-blob",
        "create-container",
        "put-blob",
        "lease:acquire",
        "metadata",
      ]);
      expect(await asking(b, (store) => store.acquire(acquiring()))).toMatchObject([
        ["put-blob", "head", "lease:acquire"],
        { acquired: false },
      ]);
    });

    it("only after a renewal, if the break of a hold may have hit it", async () => {
      const lease = await win();
      await azure.run(a.store.release(lease, { ...LIMITS, holdMs: 3_000 }));
      await azure.clock.advance(3_001);
      expect((await asking(b, (store) => store.acquire(acquiring())))[0]).toEqual([
        "head",
        "note:head",
        "lease:acquire",
        "metadata",
        "lease:renew",
      ]);
    });

    it("not in a missing container that it may not create", async () => {
      const c = azure.connect({ createContainer: false });
      const [sent, error] = await asking(c, (store) => store.acquire(acquiring()));
      expect([sent, error]).toMatchObject([["head", "put-blob"], { code: "STORE_MISSING", operation: "create-blob" }]);
    });

    it.each<readonly [string, AzureReply["headers"]]>([
      ["names no lease", {}],
      ["names another one", { "x-ms-lease-id": "00000000-0000-4000-8000-000000000000" }],
    ])("not, and not renewed, if the answer %s", async (_name, headers) => {
      const spoilt = (name: string): void => {
        a.onRequest = (request, send) => {
          const reply = send();
          if (request.name !== name) return reply;
          const { "x-ms-lease-id": _leaseId, ...others } = reply.headers;
          return { ...reply, headers: { ...others, ...headers } };
        };
      };
      const lease = await win();
      spoilt("lease:renew");
      expect((await asking(a, (store) => store.renew(lease, LIMITS)))[1]).toMatchObject({
        code: "STORE_UNAVAILABLE",
        mayHaveBeenApplied: true,
        message: /names no lease, or another/,
      });
      await azure.run(a.store.release(lease, LIMITS));
      spoilt("lease:acquire");
      expect((await asking(a, (store) => store.acquire(acquiring())))[1]).toMatchObject({ mayHaveBeenApplied: true });
    });
  });

  describe("is renewed", () => {
    it("by one request, and counts from before that", async () => {
      const lease = await win();
      await azure.clock.advance(4_000);
      const nowMs = azure.clock.monotonicMs();
      const [sent, outcome] = await asking(a, (store) => store.renew(lease, LIMITS));
      expect([sent, outcome]).toMatchObject([["lease:renew"], { held: true, extendedAt: { monotonicMs: nowMs } }]);
      await azure.clock.advance(LEASE_MS - 1);
      expect(azure.service.leaseOf(ELECTION)?.state).toBe("leased");
      expect(await azure.run(a.store.read(ELECTION))).toMatchObject({ state: "held" });
      await azure.clock.advance(1);
      expect(await azure.run(a.store.read(ELECTION))).toMatchObject({ state: "expired" });
    });

    it("no longer once it was taken, and the outcome says so", async () => {
      const lease = await win();
      await azure.clock.advance(LEASE_MS + 1);
      await win(b);
      expect((await asking(a, (store) => store.renew(lease, LIMITS)))[1]).toEqual({
        held: false,
        reason: "taken",
        barredUntilExpiry: false,
        explanation: "another candidate has the lease, or it was released",
      });
      // The process knows that the term is no longer its own.
      expect(await azure.run(a.store.read(ELECTION))).toMatchObject({ state: "unknown", term: 2 });
    });

    it.each([
      ["with a note", { reason: "over" }, true, "an administrator broke it: over"],
      ["by another tool", undefined, false, "an administrator broke it: no reason was left"],
    ] as const)("no more once it was broken %s", async (_, note, barredUntilExpiry, explanation) => {
      const lease = await win();
      if (note) await azure.run(b.store.break(ELECTION, note));
      else await b.container.getBlobClient(ELECTION).getBlobLeaseClient().breakLease(60);
      expect((await asking(a, (store) => store.renew(lease, LIMITS)))[1]).toEqual({
        held: false,
        reason: "broken",
        barredUntilExpiry,
        explanation,
      });
      expect(await azure.run(a.store.release(lease, LIMITS))).toBe("released");
    });

    it("no longer after an order to transfer it, and is then left to run out", async () => {
      const lease = await win();
      const transferring = b.store.transfer(ELECTION, "c");
      await azure.clock.advance(1);
      expect((await asking(a, (store) => store.renew(lease, LIMITS)))[1]).toEqual({
        held: false,
        reason: "broken",
        barredUntilExpiry: true,
        explanation: "an administrator asked for a transfer to 'c'",
      });
      expect(await asking(a, (store) => store.release(lease, LIMITS))).toEqual([[], "not-held"]);
      await azure.clock.advance(LEASE_MS);
      const c = azure.connect();
      await win(c, { candidateId: "c" });
      expect(await azure.run(transferring)).toBe("accepted");
    });

    it("no longer once it was broken, with any outcome of the read of the reason", async () => {
      const lease = await win();
      await azure.run(b.store.break(ELECTION, { reason: "over" }));
      a.onRequest = ({ name }, send) => (name === "head" ? refusal(500, "InternalError") : send());
      expect((await asking(a, (store) => store.renew(lease, LIMITS)))[1]).toMatchObject({
        held: false,
        reason: "broken",
        barredUntilExpiry: false,
        explanation: "an administrator broke it: no reason was left",
      });
    });

    it("with an unknown outcome if the reply is lost, or the service fails", async () => {
      const lease = await win();
      a.onRequest = (_, send) => loseReply(send);
      expect((await asking(a, (store) => store.renew(lease, LIMITS)))[1]).toMatchObject({
        operation: "renew",
        mayHaveBeenApplied: true,
      });
      a.onRequest = () => refusal(500, "InternalError");
      expect((await asking(a, (store) => store.renew(lease, LIMITS)))[1]).toMatchObject({ code: "STORE_UNAVAILABLE" });
    });
  });

  describe("has a value", () => {
    it("that is written under the lease and the last known version, one write after the other", async () => {
      const lease = await win(a, { value: "first" });
      const [one, other] = [a.store.publish(lease, "1", LIMITS), a.store.publish(lease, "2", LIMITS)];
      expect(await azure.run(Promise.all([one, other]))).toEqual([{ held: true }, { held: true }]);
      expect(azure.service.metadata(ELECTION)?.["leasehold_value"]).toBe("2");
      expect(a.sent.filter((name) => name === "metadata")).toHaveLength(3);
    });

    it("that is written after other writes, once, after a read", async () => {
      const lease = await win();
      azure.service.overwrite(ELECTION, { ...azure.service.metadata(ELECTION), theirs: "kept" });
      expect(await asking(a, (store) => store.publish(lease, "1", LIMITS))).toEqual([
        ["metadata", "head", "metadata"],
        { held: true },
      ]);
      expect(azure.service.metadata(ELECTION)).toMatchObject({ leasehold_value: "1", theirs: "kept" });
      expect(await asking(a, (store) => store.publish(lease, "2", LIMITS))).toEqual([["metadata"], { held: true }]);
    });

    it("that is not written by a candidate that has lost the lease, and the outcome has the reason", async () => {
      const lease = await win();
      await azure.clock.advance(LEASE_MS + 1);
      await win(b);
      expect((await asking(a, (store) => store.publish(lease, "late", LIMITS)))[1]).toMatchObject({
        held: false,
        reason: "taken",
      });
      expect(azure.service.metadata(ELECTION)).not.toHaveProperty("leasehold_value");
    });

    it("that is not written after another failure, but is by the next publication", async () => {
      const lease = await win();
      a.onRequest = () => refusal(500, "InternalError");
      expect((await asking(a, (store) => store.publish(lease, "1", LIMITS)))[1]).toMatchObject({ operation: "publish" });
      a.onRequest = (_, send) => send();
      expect(await asking(a, (store) => store.publish(lease, "2", LIMITS))).toEqual([["metadata"], { held: true }]);
    });

    it("that cannot be written if the blob is gone", async () => {
      const lease = await win();
      azure.service.overwrite(ELECTION, {});
      a.onRequest = ({ name }, send) => (name === "head" ? refusal(404, "BlobNotFound") : send());
      expect((await asking(a, (store) => store.publish(lease, "1", LIMITS)))[1]).toMatchObject({ code: "STORE_CONFLICT" });
    });
  });

  describe("is released", () => {
    it("by one request, and is then free, which its own process knows", async () => {
      const lease = await win();
      expect(await asking(a, (store) => store.release(lease, LIMITS))).toEqual([["lease:release"], "released"]);
      expect(azure.service.leaseOf(ELECTION)).toBeUndefined();
      expect(await asking(a, (store) => store.release(lease, LIMITS))).toEqual([["lease:release"], "not-held"]);
      expect((await asking(a, (store) => store.acquire(acquiring())))[0]).toEqual(["lease:acquire", "metadata"]);
    });

    it("later, if that has failed, as soon as a read of its process finds it", async () => {
      const lease = await win();
      a.onRequest = ({ name }, send) => (name === "lease:release" ? refusal(500, "InternalError") : send());
      expect((await asking(a, (store) => store.release(lease, LIMITS)))[1]).toMatchObject({ operation: "release" });
      a.onRequest = (_, send) => send();
      expect(await asking(a, (store) => store.read(ELECTION))).toMatchObject([
        ["head", "lease:release", "head"],
        { state: "vacant", term: 1 },
      ]);
      expect((await asking(a, (store) => store.read(ELECTION)))[0]).toEqual(["head"]);
    });

    it("later only while the lease may last, counted from its last renewal", async () => {
      for (const [afterMs, sent] of [
        [LEASE_MS, ["head", "lease:release"]],
        [LEASE_MS + 1, ["head"]],
      ] as const) {
        const election = `e${afterMs}`;
        const lease = await win(a, { election });
        await azure.clock.advance(5_000);
        await azure.run(a.store.renew(lease, LIMITS));
        a.onRequest = ({ name }, send) => (name === "lease:release" ? refusal(500, "InternalError") : send());
        await asking(a, (store) => store.release(lease, LIMITS));
        await azure.clock.advance(afterMs);
        // Another candidate's lease, whose term is not written yet.
        await b.container.getBlobClient(election).getBlobLeaseClient("11111111-0000-4000-8000-000000000000").acquireLease(15);
        expect((await asking(a, (store) => store.read(election)))[0]).toEqual(sent);
        a.onRequest = (_, send) => send();
      }
    });

    it.each([
      [1, 1],
      [2_001, 3],
      [60_000, 60],
      [90_000, 60],
    ])("with a hold of %d ms by a break of %d s, and is left until then", async (holdMs, seconds) => {
      const lease = await win(a, { value: "v", leaseDurationMs: 60_000 });
      expect(await asking(a, (store) => store.release(lease, { ...LIMITS, holdMs }))).toEqual([
        ["metadata", "lease:break"],
        "released",
      ]);
      expect(azure.service.metadata(ELECTION)).toMatchObject({ leasehold_hold: String(seconds * 1_000) });
      expect(azure.service.metadata(ELECTION)).not.toHaveProperty("leasehold_value");
      expect(azure.service.leaseOf(ELECTION)).toMatchObject({
        state: "breaking",
        untilMs: azure.clock.wallMs() + seconds * 1_000,
      });
      expect(await azure.run(b.store.read(ELECTION))).toMatchObject({ state: "vacant", bar: { kind: "hold" } });
      // Its own process competes like all others.
      expect(await asking(a, (store) => store.acquire(acquiring()))).toMatchObject([["lease:acquire"], { acquired: false }]);
    });

    it.each([undefined, 0, -1, Number.NaN])("like any other with a hold of %s ms", async (holdMs) => {
      const lease = await win();
      expect(await asking(a, (store) => store.release(lease, { ...LIMITS, holdMs }))).toEqual([["lease:release"], "released"]);
    });

    it("with a hold only while the process holds it", async () => {
      const lease = await win();
      await azure.clock.advance(LEASE_MS + 1);
      await win(b);
      expect((await asking(a, (store) => store.release(lease, { ...LIMITS, holdMs: 3_000 })))[1]).toBe("not-held");
      const next = azure.service.leaseOf(ELECTION);
      expect(next?.state).toBe("leased");
    });

    it("with a hold of unknown outcome after another failure", async () => {
      const lease = await win();
      a.onRequest = () => refusal(500, "InternalError");
      expect((await asking(a, (store) => store.release(lease, { ...LIMITS, holdMs: 3_000 })))[1]).toMatchObject({
        operation: "leave",
      });
    });

    it("with a hold that has ended already if its break conflicts with another write", async () => {
      const lease = await win();
      a.onRequest = ({ name }, send) => (name === "lease:break" ? refusal(412, "ConditionNotMet") : send());
      expect((await asking(a, (store) => store.release(lease, { ...LIMITS, holdMs: 3_000 })))[1]).toBe("not-held");
    });

    it("with its reservation, which is written again if more than a tenth of it has passed", async () => {
      for (const [afterMs, sent] of [
        [6_000, ["head", "lease:release"]],
        [6_001, ["head", "metadata", "lease:release"]],
      ] as const) {
        const election = `e${afterMs}`;
        const lease = await win(a, { election, reservation: { group: "west", durationMs: 60_000 } });
        await azure.clock.advance(afterMs);
        expect(await asking(a, (store) => store.release(lease, LIMITS))).toEqual([sent, "released"]);
        // The process wrote that last, and relies on it.
        expect((await asking(a, (store) => store.acquire(acquiring({ election }))))[1]).toMatchObject({ acquired: false });
        expect(await azure.run(b.store.read(election))).toMatchObject({ bar: { kind: "reservation", group: "west" } });
        const ours = acquiring({ election, reservation: { group: "west", durationMs: 60_000 } });
        expect((await asking(a, (store) => store.acquire(ours)))[0]).toEqual(["lease:acquire", "metadata"]);
      }
    });

    it("with its reservation as it was if the service refuses the write before it", async () => {
      const lease = await win(a, { reservation: { group: "west", durationMs: 60_000 } });
      await azure.clock.advance(6_001);
      a.onRequest = ({ name }, send) => (name === "metadata" ? refusal(503, "ServerBusy") : send());
      expect((await asking(a, (store) => store.release(lease, LIMITS)))[1]).toBe("released");
      expect(await azure.run(b.store.read(ELECTION))).toMatchObject({ bar: { kind: "reservation", group: "west" } });
    });

    it("without its reservation if an administrator has broken the term, and with it if that is unknown", async () => {
      for (const [isBroken, holdMs] of [
        [true, 0],
        [true, 3_000],
        [false, 0],
        [false, 3_000],
      ] as const) {
        const election = `e${isBroken}${holdMs}`;
        const lease = await win(a, { election, reservation: { group: "west", durationMs: 60_000 } });
        if (isBroken) await azure.run(b.store.break(election, { reason: "over" }));
        else a.onRequest = ({ name }, send) => (name === "head" ? refusal(500, "InternalError") : send());
        await asking(a, (store) => store.release(lease, { ...LIMITS, holdMs }));
        a.onRequest = (_, send) => send();
        const group = azure.service.metadata(election)?.["leasehold_group"];
        expect(group, election).toBe(isBroken ? undefined : "west");
        expect(azure.service.leaseOf(election)?.state, election).toBe(holdMs > 0 ? "breaking" : undefined);
        await azure.clock.advance(LEASE_MS);
      }
    });

    it("or forgotten, and then no process counts it as its own", async () => {
      const lease = await win();
      expect(await azure.run(a.store.read(ELECTION))).toMatchObject({ state: "held" });
      a.store.forget(lease);
      expect(await azure.run(a.store.read(ELECTION))).toMatchObject({ state: "unknown" });
    });
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

    it("with its state for its own process, and for others", async () => {
      const lease = await win(a, { value: "http://a" });
      expect(await azure.run(a.store.read(ELECTION))).toMatchObject({ state: "held", holder: "a", value: "http://a" });
      expect(await azure.run(b.store.read(ELECTION))).toMatchObject({ state: "unknown" });
      // A lease like that of a rival that died before it wrote its term.
      await azure.clock.advance(LEASE_MS + 1);
      await b.container.getBlobClient(ELECTION).getBlobLeaseClient("11111111-0000-4000-8000-000000000000").acquireLease(15);
      expect(await azure.run(a.store.read(ELECTION))).toMatchObject({ state: "unknown" });
      expect(lease.term).toBe(1);
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
