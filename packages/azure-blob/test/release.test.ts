import { acquiring, ELECTION, LEASE_MS, LIMITS } from "@leasehold/test-kit/acquisitions";
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

    it("with its reservation, which is written again if more than a tenth of it has passed since a write", async () => {
      for (const [publishedMs, afterMs, sent] of [
        [0, 6_000, ["head", "lease:release"]],
        [0, 6_001, ["head", "metadata", "lease:release"]],
        [3_000, 6_000, ["head", "lease:release"]],
      ] as const) {
        const election = `e${publishedMs + afterMs}`;
        const lease = await win(a, { election, reservation: { group: "west", durationMs: 60_000 } });
        await azure.clock.advance(publishedMs);
        if (publishedMs > 0) await azure.run(a.store.publish(lease, "here", LIMITS));
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

    it("as released in the history of the next term, which this process also wins", async () => {
      await azure.run(a.store.release(await win(), LIMITS));
      await win();
      expect(await azure.run(b.store.read(ELECTION))).toMatchObject({ term: 2, history: [{ end: "released" }, { term: 2 }] });
    });

    it("or forgotten, and then no process counts it as its own", async () => {
      const lease = await win();
      expect(await azure.run(a.store.read(ELECTION))).toMatchObject({ state: "held" });
      a.store.forget(lease);
      expect(await azure.run(a.store.read(ELECTION))).toMatchObject({ state: "unknown" });
    });
  });
});
