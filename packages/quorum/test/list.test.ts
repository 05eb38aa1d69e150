import { MemoryLeaseStore, type ListedElection } from "@leasehold/core";
import type { RecordStore } from "@leasehold/core/provider";
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
  function down({ name, capabilities }: RecordStore, lists: boolean = true): RecordStore {
    const fail = (): Promise<never> => Promise.reject(new Error("it is down"));
    // oxlint-disable-next-line eslint/require-yield -- it fails before
    const failing = async function* (): AsyncGenerator<never> {
      await fail();
    };
    return { name, capabilities, get: fail, put: fail, ...(lists ? { list: failing } : {}) };
  }

  test("has each election once, without the quorum's own records, while one member is down", async () => {
    for (const election of ["one", "two"]) await clock.runUntil(quorum().acquire({ ...REQUEST, election }), 60_000);
    members.b = down(members.b);
    expect((await listed()).map(({ election }) => election).toSorted()).toEqual(["one", "two"]);
  });

  test("fails without a majority", async () => {
    members.a = down(members.a);
    members.b = down(members.b);
    await expect(listed()).rejects.toMatchObject({
      code: "STORE_UNAVAILABLE",
      message: "quorum: 1 of 3 members have listed; 2 must.",
    });
  });

  test("is refused at once where a member cannot list", () => {
    members.c = down(members.c, false);
    expect(quorum().capabilities.list).toBeUndefined();
    expect(() => quorum().list()).toThrow("quorum cannot list its elections.");
  });
});
