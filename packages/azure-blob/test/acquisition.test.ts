import type { Lease } from "@leasehold/core/provider";
import { acquiring, ELECTION, LIMITS } from "@leasehold/test-kit/acquisitions";
import type { AzureReply } from "@leasehold/test-kit/simulated/azure-service";
import { beforeEach, describe, expect, it } from "vitest";
import { OneLease } from "./one-lease.ts";
import { loseReply, refusal } from "./virtual-azure.ts";

const LEFT_MS = 60_000;

describe("a lease of a blob", () => {
  let azure: OneLease["azure"];
  let a: OneLease["a"];
  let b: OneLease["b"];
  let win: OneLease["win"];
  let asking: OneLease["asking"];

  beforeEach(() => {
    ({ azure, a, b, win, asking } = new OneLease());
  });

  describe("is acquired", () => {
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
});
