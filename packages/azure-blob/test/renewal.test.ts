import { ELECTION, LEASE_MS, LIMITS } from "@leasehold/test-kit/acquisitions";
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
});
