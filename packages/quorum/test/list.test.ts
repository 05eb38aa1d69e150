import { MemoryLeaseStore, type ListedElection } from "@leasehold/core";
import { sleep, type ListedRecord, type ListRecordsOptions, type RecordStore } from "@leasehold/core/provider";
import { VirtualClock } from "@leasehold/core/testing";
import { QuorumLeaseStore } from "@leasehold/quorum";
import { beforeEach, describe, expect, test } from "vitest";

const REQUEST = { candidateId: "a", leaseDurationMs: 15_000, renewIntervalMs: 5_000, timeoutMs: 1_000 };

describe("a list on a quorum", () => {
  let clock: VirtualClock;
  let members: Record<"a" | "b" | "c", RecordStore>;

  beforeEach(() => {
    clock = new VirtualClock();
    const records = (): RecordStore => new MemoryLeaseStore({ clock }).records;
    members = { a: records(), b: records(), c: records() };
  });

  function quorum(): QuorumLeaseStore {
    return new QuorumLeaseStore({ members, clock, logger: false });
  }

  async function listed(): Promise<readonly ListedElection[]> {
    return await clock.runUntil(Array.fromAsync(quorum().list("", { timeoutMs: 1_000 })), 60_000);
  }

  /** Returns a member whose requests fail. */
  function down(records: RecordStore, lists: boolean = true): RecordStore {
    const { name, capabilities } = records;
    const none = { name, capabilities, get: fail, put: fail };
    return lists ? { ...withoutLists(records), ...none } : none;
  }

  /** Returns a member that answers, and whose lists fail. */
  function withoutLists(records: RecordStore): RecordStore {
    const { name, capabilities } = records;
    // oxlint-disable-next-line eslint/require-yield -- it fails before
    const list = async function* (): AsyncGenerator<never> {
      await fail();
    };
    return { name, capabilities, get: records.get.bind(records), put: records.put.bind(records), list };
  }

  function fail(): Promise<never> {
    return Promise.reject(new Error("it is down"));
  }

  test("has each election once, without the quorum's own records, while one member is down", async () => {
    for (const election of ["one", "two"]) await clock.runUntil(quorum().acquire({ ...REQUEST, election }), 60_000);
    members.b = down(members.b);
    expect((await listed()).map(({ election }) => election).toSorted()).toEqual(["one", "two"]);
  });

  test("fails without a majority", async () => {
    members.a = withoutLists(members.a);
    members.b = withoutLists(members.b);
    await expect(listed()).rejects.toMatchObject({
      code: "STORE_UNAVAILABLE",
      message: "quorum: 1 of 3 members have listed and count; 2 must.",
    });
  });

  test("does not count a member whose store was emptied: it may lack an election that is led", async () => {
    await clock.runUntil(quorum().acquire({ ...REQUEST, election: "other" }), 60_000);
    const { a, c } = members;
    members.c = down(c);
    const leader = quorum();
    const outcome = await clock.runUntil(leader.acquire({ ...REQUEST, election: "one" }), 60_000);
    if (!outcome.acquired) expect.fail("It was not acquired.");
    await clock.runUntil(leader.renew(outcome.lease, { timeoutMs: 1_000 }), 60_000);
    members = { a: withoutLists(a), b: new MemoryLeaseStore({ clock }).records, c };
    await expect(listed()).rejects.toMatchObject({
      code: "STORE_UNAVAILABLE",
      message: "quorum: 1 of 3 members have listed and count; 2 must.",
    });
    members.a = a;
    expect((await listed()).map(({ election }) => election).toSorted()).toEqual(["one", "other"]);
  });

  test("has a request's time for each page, and ends all pages with the list", async () => {
    await clock.runUntil(quorum().acquire({ ...REQUEST, election: "e0" }), 60_000);
    const ended: string[] = [];
    const paged = (name: string, records: RecordStore, pageMs: number): RecordStore => {
      const { capabilities } = records;
      const send = (): Promise<void> => sleep(clock, pageMs);
      const list = async function* (_: string, { request }: ListRecordsOptions): AsyncGenerator<ListedRecord> {
        try {
          for (let page = 0; page < 50; page += 1) {
            await request(send);
            yield { election: `e${page}`, stored: { data: undefined, version: "" } };
          }
        } finally {
          ended.push(name);
        }
      };
      return { name, capabilities, get: records.get.bind(records), put: records.put.bind(records), list };
    };
    const { a, b, c } = members;
    members = { a: paged("a", a, 120), b: paged("b", b, 120), c: paged("c", c, 100_000) };
    expect((await listed()).map(({ election }) => election)).toEqual(["e0"]);
    await clock.advance(1);
    expect(ended.toSorted()).toEqual(["a", "b", "c"]);
    expect(clock.pendingTimers).toBe(1);
  });

  test("is refused at once where a member cannot list", () => {
    members.c = down(members.c, false);
    expect(quorum().capabilities.list).toBeUndefined();
    expect(() => quorum().list()).toThrow("quorum cannot list its elections.");
  });
});
