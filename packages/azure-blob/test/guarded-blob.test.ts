import type { BlobClient } from "@azure/storage-blob";
import type { Leadership } from "@leasehold/core";
import { beforeEach, describe, expect, it } from "vitest";
import { GuardedBlobs } from "../src/guarded-blobs.ts";
import { loseReply, refusal, VirtualAzure, type Connection } from "./virtual-azure.ts";

const BLOB = "report";

describe("a blob that is guarded by terms", () => {
  let azure: VirtualAzure;
  let a: Connection;
  let blob: BlobClient;

  beforeEach(async () => {
    azure = new VirtualAzure();
    a = azure.connect();
    blob = a.container.getBlobClient(BLOB);
    await a.container.create();
    a.sent.length = 0;
  });

  function leading(term: number, termId = `id${term}`, election = "e"): Leadership {
    return { election, term, termId } as Leadership;
  }

  /** Returns the requests of a call, and its result. */
  async function asking(call: () => Promise<void>): Promise<[string[], unknown]> {
    a.sent.length = 0;
    const outcome = await azure.run(call().catch((error: unknown) => error));
    return [[...a.sent], outcome];
  }

  const fence = (): object | undefined => azure.service.metadata(BLOB);

  it("carries its last writer's term besides its metadata, and then takes a write without a read", async () => {
    const first = leading(3);
    expect(await asking(() => a.store.seal(first, blob))).toEqual([["head", "put-blob"], undefined]);
    expect(fence()).toEqual({
      leasehold_fence_election: "e",
      leasehold_fence_term: "3",
      leasehold_fence_termid: "id3",
      leasehold_fence_write: expect.any(String) as string,
    });
    azure.service.overwrite(BLOB, { ...azure.service.metadata(BLOB), theirs: "kept" });
    const second = leading(4);
    expect((await asking(() => a.store.seal(second, blob)))[0]).toEqual(["head", "metadata"]);
    const metadata = { mine: "m", LeaseHold_Fence_Term: "99" };
    expect(await asking(() => a.store.fencedUpload(second, blob, "text", { metadata }))).toEqual([["put-blob"], undefined]);
    expect(fence()).toMatchObject({ theirs: "kept", mine: "m", leasehold_fence_term: "4" });
    expect(await asking(() => a.store.fencedUpload(second, blob, new Uint8Array(2)))).toEqual([["put-blob"], undefined]);
  });

  it.each<readonly [number, string, string, string | undefined]>([
    [4, "id4", "e", undefined],
    [5, "id5", "e", undefined],
    [3, "id3", "e", "FENCED"],
    [4, "other", "e", "FENCED"],
    [5, "id5", "f", "CONFIGURATION"],
  ])("of term 4 meets term %d of %s in '%s': %s", async (term, termId, election, code) => {
    await azure.run(a.store.seal(leading(4), blob));
    const before = fence();
    const [, error] = await asking(() => a.store.seal(leading(term, termId, election), blob));
    if (code === undefined) expect(error).toBeUndefined();
    else expect([(error as { code: string }).code, fence()]).toEqual([code, before]);
  });

  it.each([{ leasehold_fence_term: "x" }, { leasehold_fence_termid: "" }, { leasehold_fence_election: "%zz" }])(
    "is not changed if its fence cannot be read: %j",
    async (spoilt) => {
      await azure.run(a.store.seal(leading(4), blob));
      azure.service.overwrite(BLOB, { ...azure.service.metadata(BLOB), ...spoilt });
      expect((await asking(() => a.store.seal(leading(9), blob)))[1]).toMatchObject({ code: "FOREIGN_RECORD" });
    },
  );

  it("is not changed if only a part of a fence exists", async () => {
    await azure.run(a.store.seal(leading(4), blob));
    azure.service.overwrite(BLOB, { leasehold_fence_termid: "id4" });
    expect((await asking(() => a.store.seal(leading(9), blob)))[1]).toMatchObject({ code: "FOREIGN_RECORD" });
    azure.service.overwrite(BLOB, { theirs: "kept" });
    expect((await asking(() => a.store.seal(leading(9), blob)))[1]).toBeUndefined();
  });

  it("is tried five times against other writers, and no more", async () => {
    await azure.run(a.store.seal(leading(4), blob));
    a.onRequest = ({ name }, send) => (name === "metadata" ? refusal(412, "ConditionNotMet") : send());
    const [sent, error] = await asking(() => a.store.seal(leading(5), blob));
    expect(sent).toEqual(["head", ...Array.from({ length: 5 }, () => ["metadata", "head"]).flat()]);
    expect(error).toMatchObject({
      code: "STORE_CONFLICT",
      operation: "seal",
      election: "e",
      mayHaveBeenApplied: false,
      message: expect.stringMatching(/^azure-blob: others kept writing the blob '.*' during 'seal'\.$/) as string,
    });
  });

  it.each([
    [412, "ConditionNotMet"],
    [409, "BlobAlreadyExists"],
    [404, "BlobNotFound"],
  ])("is written again if the service answers %d %s once", async (status, code) => {
    await azure.run(a.store.seal(leading(4), blob));
    let refused = 0;
    a.onRequest = ({ name }, send) => (name === "metadata" && (refused += 1) === 1 ? refusal(status, code) : send());
    expect(await asking(() => a.store.seal(leading(5), blob))).toEqual([["head", "metadata", "head", "metadata"], undefined]);
  });

  describe("and was deleted", () => {
    const gone = async (): Promise<void> => void (await azure.run(blob.delete()));
    const FENCED = { code: "FENCED", message: expect.stringMatching(/report' \(deleted since .* later leadership/) as string };

    it.each<readonly [string, (leadership: Leadership) => Promise<void>]>([
      ["sealed", (leadership) => a.store.seal(leadership, blob)],
      ["written", (leadership) => a.store.fencedUpload(leadership, blob, "text")],
    ])("is not created again by a leadership that has %s it", async (_, know) => {
      const stale = leading(3);
      await azure.run(know(stale));
      await azure.run(a.store.fencedDelete(leading(4), blob));
      for (const write of [() => a.store.fencedUpload(stale, blob, "stale"), () => a.store.seal(stale, blob)]) {
        expect((await asking(write))[1]).toMatchObject(FENCED);
        expect(fence()).toBeUndefined();
      }
      expect((await asking(() => a.store.fencedUpload(leading(5), blob, "next")))[1]).toBeUndefined();
      expect((await asking(() => a.store.fencedUpload(stale, blob, "stale")))[1]).toMatchObject({ currentTerm: 5 });
    });

    it("is not created again by a leadership that has only read it", async () => {
      await azure.run(a.store.seal(leading(4), blob));
      const stale = leading(3);
      expect((await asking(() => a.store.seal(stale, blob)))[1]).toMatchObject({ code: "FENCED", currentTerm: 4 });
      await gone();
      expect((await asking(() => a.store.seal(stale, blob)))[1]).toMatchObject(FENCED);
    });

    it.each([
      [412, "ConditionNotMet"],
      [409, "BlobAlreadyExists"],
    ])("is not created again by a leadership whose creation met it (%d %s)", async (status, code) => {
      let refused = 0;
      a.onRequest = ({ name }, send) => (name === "put-blob" && (refused += 1) === 1 ? refusal(status, code) : send());
      const [sent, error] = await asking(() => a.store.seal(leading(5), blob));
      expect([sent, error]).toMatchObject([["head", "put-blob", "head"], FENCED]);
    });

    it("while a write of it had no reply, is refused with that write's error as the cause", async () => {
      const leadership = leading(5);
      await azure.run(a.store.seal(leadership, blob));
      a.onRequest = async ({ name }, send) => {
        if (name !== "put-blob") return send();
        await blob.delete();
        return loseReply(() => refusal(412, "ConditionNotMet"));
      };
      const upload = (): Promise<void> => a.store.fencedUpload(leadership, blob, "text");
      expect((await asking(upload))[1]).toMatchObject({ code: "STORE_UNAVAILABLE", mayHaveBeenApplied: true });
      a.onRequest = (_, send) => send();
      expect((await asking(upload))[1]).toMatchObject(FENCED);
    });

    it("is created by a leadership that has never seen it, also by an older one: a documented limit", async () => {
      await azure.run(a.store.seal(leading(4), blob));
      await azure.run(a.store.fencedDelete(leading(4), blob));
      expect((await asking(() => a.store.seal(leading(3), blob)))[1]).toBeUndefined();
    });

    it("is forgotten by a leadership that has seen ten thousand others since", async () => {
      const leadership = leading(4);
      await azure.run(a.store.seal(leadership, blob));
      const guarded = GuardedBlobs.of(leadership, azure.clock);
      for (let index = 1; index < 10_000; index += 1) guarded.saw(`other/${index}`);
      expect(guarded.knows(blob.url)).toBe(true);
      guarded.saw("other/10000");
      expect(guarded.knows(blob.url)).toBe(false);
    });
  });

  describe("is deleted", () => {
    it("by its own leader, in one request, who may create it again", async () => {
      const leadership = leading(4);
      await azure.run(a.store.seal(leadership, blob));
      expect(await asking(() => a.store.fencedDelete(leadership, blob))).toEqual([["delete"], undefined]);
      expect(fence()).toBeUndefined();
      const upload = (): Promise<void> => a.store.fencedUpload(leadership, blob, "text");
      expect(await asking(upload)).toEqual([["head", "put-blob"], undefined]);
    });

    it("by a newer term, and not by an older one", async () => {
      const stale = leading(3);
      await azure.run(a.store.seal(stale, blob));
      await azure.run(a.store.seal(leading(4), blob));
      const [sent, error] = await asking(() => a.store.fencedDelete(stale, blob));
      expect([sent, error]).toMatchObject([["delete", "head"], { code: "FENCED", currentTerm: 4 }]);
      expect(fence()).toMatchObject({ leasehold_fence_term: "4" });
      expect(await asking(() => a.store.fencedDelete(leading(5), blob))).toEqual([["head", "delete"], undefined]);
    });

    it("without a request after the read, if it is missing", async () => {
      expect(await asking(() => a.store.fencedDelete(leading(4), blob))).toEqual([["head"], undefined]);
    });

    it("after other writes of it without a fence", async () => {
      const leadership = leading(4);
      await azure.run(a.store.seal(leadership, blob));
      azure.service.overwrite(BLOB, { theirs: "kept" });
      expect(await asking(() => a.store.fencedDelete(leadership, blob))).toEqual([["delete", "head", "delete"], undefined]);
    });

    it("if only the reply is lost: this leadership does not create it again", async () => {
      const leadership = leading(4);
      await azure.run(a.store.seal(leadership, blob));
      a.onRequest = ({ name }, send) => (name === "delete" ? loseReply(send) : send());
      expect(await asking(() => a.store.fencedDelete(leadership, blob))).toEqual([["delete", "head"], undefined]);
      a.onRequest = (_, send) => send();
      expect((await asking(() => a.store.seal(leadership, blob)))[1]).toMatchObject({ code: "FENCED" });
    });

    it("or may not be, if a request without a reply has not arrived", async () => {
      const leadership = leading(4);
      await azure.run(a.store.seal(leadership, blob));
      a.onRequest = ({ name }, send) => (name === "delete" ? loseReply(() => refusal(500, "InternalError")) : send());
      const [sent, error] = await asking(() => a.store.fencedDelete(leadership, blob));
      expect(sent).toEqual(["delete", "head"]);
      expect(error).toMatchObject({ operation: "fenced-delete", mayHaveBeenApplied: true });
      expect(fence()).toBeDefined();
    });

    it("not while it has snapshots, and the error says so", async () => {
      const leadership = leading(4);
      await azure.run(a.store.seal(leadership, blob));
      a.onRequest = ({ name }, send) => (name === "delete" ? refusal(409, "SnapshotsPresent") : send());
      expect((await asking(() => a.store.fencedDelete(leadership, blob)))[1]).toMatchObject({
        code: "STORE_REJECTED",
        message: expect.stringContaining("delete them first") as string,
      });
    });
  });

  it.each([
    [404, "ContainerNotFound", "STORE_MISSING"],
    [403, "AuthorizationFailure", "STORE_DENIED"],
  ])("is not written again if the service answers %d %s", async (status, code, is) => {
    a.onRequest = ({ name }, send) => (name === "put-blob" ? refusal(status, code) : send());
    expect(await asking(() => a.store.seal(leading(5), blob))).toMatchObject([["head", "put-blob"], { code: is }]);
  });

  it("is known to be written if only the reply is lost, and needs no read after that", async () => {
    const leadership = leading(5);
    a.onRequest = ({ name }, send) => (name === "put-blob" ? loseReply(send) : send());
    expect(await asking(() => a.store.seal(leadership, blob))).toEqual([["head", "put-blob", "head"], undefined]);
    a.onRequest = (_, send) => send();
    expect((await asking(() => a.store.seal(leadership, blob)))[0]).toEqual(["metadata"]);
  });

  it("may have been written if there is no reply, and is read before it is written again", async () => {
    const leadership = leading(5);
    await azure.run(a.store.seal(leadership, blob));
    a.onRequest = () => {
      throw Object.assign(new Error("socket hang up"), { code: "ECONNRESET" });
    };
    const [sent, error] = await asking(() => a.store.fencedUpload(leadership, blob, "text"));
    expect(sent).toEqual(["put-blob", "head"]);
    expect(error).toMatchObject({ operation: "fenced-upload", mayHaveBeenApplied: true });
    a.onRequest = (_, send) => send();
    expect((await asking(() => a.store.fencedUpload(leadership, blob, "text")))[0]).toEqual(["head", "put-blob"]);
  });

  it("has not been written by a leadership that is fenced off meanwhile, with or without a reply", async () => {
    const leadership = leading(5);
    await azure.run(a.store.seal(leadership, blob));
    a.onRequest = ({ name }, send) => {
      if (name !== "put-blob") return send();
      azure.service.overwrite(BLOB, {
        ...azure.service.metadata(BLOB),
        leasehold_fence_term: "6",
        leasehold_fence_termid: "id6",
      });
      throw Object.assign(new Error("socket hang up"), { code: "ECONNRESET" });
    };
    expect((await asking(() => a.store.fencedUpload(leadership, blob, "text")))[1]).toMatchObject({
      code: "FENCED",
      cause: { operation: "fenced-upload", mayHaveBeenApplied: true },
    });
  });

  it("is waited for until the time limit, half a minute by default, or until the caller's signal aborts", async () => {
    a.onRequest = async () => await new Promise(() => {});
    const [{ store }, target] = [a, blob];
    for (const [options, ms] of [
      [{ timeoutMs: 700 }, 700],
      [{}, 30_000],
    ] as const) {
      const startMs = azure.clock.monotonicMs();
      expect((await asking(() => store.seal(leading(1), target, options)))[1]).toMatchObject({
        code: "STORE_TIMEOUT",
        operation: "head-target",
        mayHaveBeenApplied: false,
      });
      expect(azure.clock.monotonicMs() - startMs).toBe(ms);
    }
    const stopping = new AbortController();
    stopping.abort(new Error("enough"));
    expect((await asking(() => a.store.seal(leading(1), blob, { signal: stopping.signal })))[1]).toMatchObject({
      message: "enough",
    });
  });

  it("must be a BlobClient, or nothing is sent", async () => {
    const [sent, error] = await asking(() => a.store.seal(leading(1), a.container as unknown as BlobClient));
    expect([sent, error]).toMatchObject([[], { code: "CONFIGURATION" }]);
  });
});
