import type { LeaseRecord, StoredRecord } from "@leasehold/core/provider";
import { ProcessClock, promptNetwork, SimulatedRecordService, VirtualClock, type Network } from "@leasehold/core/testing";
import { describe, expect, test } from "vitest";

const ELECTION = "nightly-billing";
const signal = new AbortController().signal;

function record(fields: Partial<LeaseRecord> = {}): LeaseRecord {
  const held = { schema: 3, term: 1, termId: "t", candidateId: "a", nonce: "n" } as const;
  return { ...held, leaseDurationMs: 15_000, renewIntervalMs: 5_000, ...fields };
}

function service(options?: ConstructorParameters<typeof SimulatedRecordService>[1], network?: Network) {
  const world = new VirtualClock();
  const process = new ProcessClock(world);
  const simulated = new SimulatedRecordService(world, options);
  return { world, process, simulated, records: simulated.connect(process, network) };
}

function termOf(stored: StoredRecord | undefined): unknown {
  return (stored?.data as LeaseRecord | undefined)?.term;
}

const put = { ifVersion: undefined, keepsNonce: false, signal };

describe("a simulated service", () => {
  test("swaps a record only if the version is the present one", async () => {
    const { world, records } = service();
    const first = await world.runUntil(records.put(ELECTION, record(), put));
    expect(first).toEqual({ stored: true, version: expect.any(String) as string });
    await expect(world.runUntil(records.put(ELECTION, record({ term: 2 }), put))).resolves.toEqual({ stored: false });
    const version = first.stored ? first.version : "";
    const second = await world.runUntil(records.put(ELECTION, record({ term: 2 }), { ...put, ifVersion: version }));

    expect(second.stored).toBe(true);
    const stored = await world.runUntil(records.get(ELECTION, { consistent: true, signal }));
    expect(stored).toEqual({ data: record({ term: 2 }), version: second.stored ? second.version : "" });
  });

  test("returns the age of a nonce by its own clock, also after writes that keep the nonce", async () => {
    const { world, simulated } = service({ storeClock: { toleranceMs: 0, exact: false }, clockRate: 2 });
    const first = simulated.put(ELECTION, record(), put);
    await world.advance(100);
    simulated.put(ELECTION, record({ broken: { reason: "why not", id: "order" } }), {
      ifVersion: first.stored ? first.version : "",
      keepsNonce: true,
    });
    expect(simulated.get(ELECTION)?.nonceAgeMs).toEqual([200, 200]);
    simulated.stepClock(-1_000);

    expect(simulated.get(ELECTION)?.nonceAgeMs).toEqual([-800, -800]);
  });

  test("reports when each write was sent and accepted", async () => {
    const { world, simulated, records } = service({}, () => ({ arrivals: [{ afterMs: 30, replyAfterMs: 1 }] }));
    const accepted: unknown[] = [];
    const startMs = world.monotonicMs();
    simulated.onAccepted = ({ sentMs, atMs }) => accepted.push([sentMs - startMs, atMs - startMs]);
    await world.runUntil(records.put(ELECTION, record(), put));
    simulated.put(ELECTION, record(), { ...put, ifVersion: simulated.get(ELECTION)?.version });

    expect(accepted).toEqual([
      [0, 30],
      [31, 31],
    ]);
  });

  test("admits guarded writes by its fence, which changes with the record", () => {
    const { simulated } = service();
    expect(simulated.admits(ELECTION, { term: 1, termId: "t" })).toBe(false);
    simulated.put(ELECTION, record(), { ...put, fence: { term: 1, termId: "t" } });
    simulated.put(ELECTION, record(), { ...put, fence: { term: 2, termId: "late" } });

    expect(simulated.admits(ELECTION, { term: 1, termId: "t" })).toBe(true);
    expect(simulated.admits(ELECTION, { term: 1, termId: "other" })).toBe(false);
    expect(simulated.admits(ELECTION, { term: 2, termId: "late" })).toBe(false);
  });

  test("shows a lagging reader the former record, except for a consistent read", async () => {
    const lagging: Network = () => ({ arrivals: [{ afterMs: 1, replyAfterMs: 1 }], lags: true });
    const { world, simulated, records } = service({}, lagging);
    simulated.overwrite(ELECTION, record());
    simulated.overwrite(ELECTION, record({ term: 2 }));
    const term = async (consistent: boolean): Promise<unknown> =>
      termOf(await world.runUntil(records.get(ELECTION, { consistent, signal })));

    await expect(term(false)).resolves.toBe(1);
    await expect(term(true)).resolves.toBe(2);
  });

  test("that pushes wakes at once, and at each write that changes the fence", async () => {
    const { world, simulated, records } = service({ pushes: true });
    const stopping = new AbortController();
    let wakeUps = 0;
    const versions = [record(), record({ term: 2, termId: "u" }), record({ term: 2, termId: "u", nonce: "o" })];
    simulated.overwrite(ELECTION, versions[0]);
    const watching = (async () => {
      for await (const _ of records.watch!(ELECTION, { signal: stopping.signal })) wakeUps += 1;
    })();
    await world.advance(10);
    for (const [next, fence] of [
      [versions[1]!, { term: 2, termId: "u" }],
      [versions[2]!, undefined],
    ] as const) {
      simulated.put(ELECTION, next, { ifVersion: simulated.get(ELECTION)?.version, keepsNonce: false, fence });
      await world.advance(10);
    }
    stopping.abort();
    await watching;

    expect(wakeUps).toBe(2);
  });
});

describe("a network", () => {
  test("that delivers a request twice has it carried out twice, and returns the first reply", async () => {
    const twice: Network = () => ({
      arrivals: [
        { afterMs: 5, replyAfterMs: 50 },
        { afterMs: 10, replyAfterMs: 1 },
      ],
    });
    const { world, simulated, records } = service({}, twice);
    let accepted = 0;
    simulated.onAccepted = () => (accepted += 1);

    // The second delivery finds the first one's version, and its reply is faster.
    await expect(world.runUntil(records.put(ELECTION, record(), put))).resolves.toEqual({ stored: false });
    expect(accepted).toBe(1);
  });

  test("that breaks fails the request, even if the request arrived", async () => {
    const error = new Error("reset");
    const breaks: Network = () => ({ arrivals: [{ afterMs: 20, replyAfterMs: 1 }], breaks: { afterMs: 10, error } });
    const { world, simulated, records } = service({}, breaks);

    await expect(world.runUntil(records.put(ELECTION, record(), put))).rejects.toBe(error);
    await world.advance(20);
    expect(simulated.record(ELECTION)).toEqual(record());
  });

  test("that loses everything delivers nothing, and a killed process gets no reply", async () => {
    const { world, process, simulated, records } = service({}, () => ({ arrivals: [] }));
    const lost = records.put(ELECTION, record(), put);
    void lost.then(() => expect.fail("It was answered."));
    await world.advance(1_000);
    expect(simulated.record(ELECTION)).toBeUndefined();

    const prompt = simulated.connect(process, promptNetwork(10));
    let answered = false;
    void prompt.put(ELECTION, record(), put).then(() => (answered = true));
    await world.advance(15);
    process.kill();
    await world.advance(15);
    expect([simulated.record(ELECTION), answered]).toEqual([record(), false]);
  });
});
