import { beforeEach, describe, expect, it } from "vitest";
import { acquiring, ELECTION, LIMITS, win } from "@leasehold/test-kit/acquisitions";
import { refusal, VirtualAzure, type Connection } from "./virtual-azure.ts";

const FRESH_MS = 5_000;

describe("an attempt without a read", () => {
  let azure: VirtualAzure;
  let a: Connection;
  let b: Connection;

  beforeEach(() => {
    azure = new VirtualAzure();
    a = azure.connect();
    b = azure.connect();
  });

  /** The requests of an attempt, and what has come of it. */
  async function attempt(
    connection: Connection,
    request: Parameters<typeof acquiring>[0] = {},
  ): Promise<[sent: string[], outcome: unknown]> {
    connection.sent.length = 0;
    const outcome = await azure.run(connection.store.acquireUnseen(acquiring(request)));
    return [[...connection.sent], outcome];
  }

  async function released(connection: Connection): Promise<void> {
    await azure.run(connection.store.release(await win(connection.store), LIMITS));
  }

  it("takes two requests where this process has just released the lease, or read that it is free", async () => {
    await released(a);
    expect(await attempt(a)).toMatchObject([["lease:acquire", "metadata"], { acquired: true, lease: { term: 2 } }]);
    await azure.clock.advance(15_001);
    await azure.run(b.store.read(ELECTION));
    expect(await attempt(b)).toMatchObject([["lease:acquire", "metadata"], { acquired: true, lease: { term: 3 } }]);
  });

  it("takes three where it has read that there is no blob", async () => {
    await azure.run(a.store.read("other"));
    await released(b);
    await azure.run(a.store.read("new"));
    const [sent, outcome] = await attempt(a, { election: "new" });
    expect(sent).toEqual(["put-blob", "lease:acquire", "metadata"]);
    expect(outcome).toMatchObject({ acquired: true, lease: { term: 1 } });
  });

  it("reads a blob that is there after all, and goes on from that", async () => {
    await azure.run(a.store.read(ELECTION));
    await released(b);
    expect(await attempt(a)).toMatchObject([["put-blob", "head", "lease:acquire", "metadata"], { lease: { term: 2 } }]);
  });

  it("sends nothing where this process has seen nothing, or another leading, or nothing for five seconds", async () => {
    await released(a);
    expect(await attempt(b)).toEqual([[], undefined]);
    await azure.clock.advance(FRESH_MS);
    expect((await attempt(a))[0]).toEqual(["lease:acquire", "metadata"]);
    await azure.run(b.store.read(ELECTION));
    expect(await attempt(b)).toEqual([[], undefined]);

    await azure.clock.advance(15_001);
    await azure.run(b.store.read(ELECTION));
    await azure.clock.advance(FRESH_MS + 1);
    expect(await attempt(b)).toEqual([[], undefined]);
  });

  it("sends nothing where the election is kept for others, or this process has seen a higher term", async () => {
    await released(a);
    const stopping = new AbortController();
    const transfer = b.store.transfer(ELECTION, "z", { signal: stopping.signal }).catch(() => "aborted");
    await azure.clock.advance(100);
    await azure.run(a.store.read(ELECTION));
    expect(await attempt(a)).toEqual([[], undefined]);
    expect((await attempt(a, { candidateId: "z" }))[0]).toEqual(["lease:acquire", "metadata"]);
    stopping.abort();
    await azure.run(transfer);

    const other = azure.connect();
    await azure.run(other.store.read("new"));
    expect(await attempt(other, { election: "new", aboveTerm: 3 })).toEqual([[], undefined]);
    await azure.clock.advance(15_001);
    await azure.run(other.store.read(ELECTION));
    expect(await attempt(other, { aboveTerm: 9 })).toEqual([[], undefined]);
  });

  it("comes to nothing where another was before it: a read is next", async () => {
    await released(a);
    await azure.run(b.store.read(ELECTION));
    await win(a.store);
    expect(await attempt(b)).toEqual([["lease:acquire"], undefined]);
  });

  it("does not take what an administrator has kept for another, after a break that its leader does not know of", async () => {
    const lease = await win(a.store, { candidateId: "a" });
    const stopping = new AbortController();
    const transfer = b.store.transfer(ELECTION, "z", { signal: stopping.signal }).catch(() => "aborted");
    await azure.clock.advance(16_000);
    // The lease was broken. The former leader learns that by its renewal, and its read fails that would show for whom.
    a.onRequest = ({ name }, send) => (name === "head" ? refusal(500, "InternalError") : send());
    await expect(azure.run(a.store.renew(lease, LIMITS))).resolves.toMatchObject({ held: false, reason: "broken" });
    a.onRequest = (_, send) => send();
    expect(await attempt(a, { candidateId: "a" })).toEqual([[], undefined]);
    await azure.run(a.store.read(ELECTION));
    expect(await attempt(a, { candidateId: "a" })).toEqual([[], undefined]);
    stopping.abort();
    await azure.run(transfer);
  });
});
