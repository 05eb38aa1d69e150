/** The grid that a leader publishes for its standbys, in virtual time: how sharp it is, and what that costs. */
import type { Lease } from "@leasehold/core/provider";
import { ELECTION, LIMITS } from "@leasehold/test-kit/acquisitions";
import { beforeEach, describe, expect, it } from "vitest";
import { OneLease } from "./one-lease.ts";
import { refusal } from "./virtual-azure.ts";

const RENEW_INTERVAL_MS = 5_000;
/** The width of a sharp grid, in whole milliseconds. */
const SHARP_MS = 30 + 2;
const MAX_PROBES = 8;
const GRID_AGE_MS = 600_000;

describe("the grid that a leader publishes", () => {
  let azure: OneLease["azure"];
  let a: OneLease["a"];
  let win: OneLease["win"];

  beforeEach(async () => {
    ({ azure, a, win } = new OneLease());
    await azure.clock.advance(333);
  });

  function grid(election = ELECTION): number[] {
    return decodeURIComponent(azure.service.metadata(election)!["leasehold_grid"]!).split("_").map(Number);
  }

  function widthMs(election = ELECTION): number {
    const [lo, hi] = grid(election);
    return hi! - lo!;
  }

  /** Renews each lease every {@link RENEW_INTERVAL_MS}. Returns the names of the other requests meanwhile. */
  async function leadFor(ms: number, ...leases: readonly Lease[]): Promise<string[]> {
    a.sent.length = 0;
    for (let passedMs = 0; passedMs < ms; passedMs += RENEW_INTERVAL_MS) {
      for (const lease of leases) await azure.run(a.store.renew(lease, LIMITS));
      await azure.clock.advance(RENEW_INTERVAL_MS);
    }
    return a.sent.filter((name) => name !== "lease:renew");
  }

  it("is sharp soon after the first renewal, by some reads and one write, and again ten minutes later", async () => {
    const lease = await win();
    const grantedMs = azure.clock.wallMs();
    expect(widthMs()).toBeGreaterThan(SHARP_MS);

    for (let round = 0; round < 2; round += 1) {
      const sent = await leadFor(10_000, lease);
      expect(sent.at(-1)).toBe("metadata");
      expect(sent.slice(0, -1)).toEqual(Array.from({ length: sent.length - 1 }, () => "head"));
      expect(sent.length).toBeLessThanOrEqual(MAX_PROBES + 1);
      const [lo, hi, intervalMs] = grid();
      expect(hi! - lo!).toBeLessThanOrEqual(SHARP_MS);
      expect(intervalMs).toBe(RENEW_INTERVAL_MS);
      const renewals = Math.round((lo! - grantedMs) / RENEW_INTERVAL_MS);
      // The grid is written in whole milliseconds.
      expect(lo! - 1).toBeLessThanOrEqual(grantedMs + renewals * RENEW_INTERVAL_MS);
      expect(hi! + 1).toBeGreaterThanOrEqual(grantedMs + renewals * RENEW_INTERVAL_MS);
      expect(await leadFor(GRID_AGE_MS - 10_000, lease)).toEqual([]);
    }
  });

  it("is made sharp by a bounded number of reads if these say nothing about the service's clock", async () => {
    const lease = await win();
    a.onRequest = ({ name }, send) => {
      const reply = send();
      return name === "head" ? { ...reply, headers: { ...reply.headers, date: "" } } : reply;
    };
    expect(await leadFor(15_000, lease)).toEqual([...Array.from({ length: MAX_PROBES }, () => "head"), "metadata"]);
  });

  it("is made sharp for all leaders of a process by the reads of one", async () => {
    const leases = [await win(), await win(a, { election: "second" }), await win(a, { election: "third" })];
    const sent = await leadFor(10_000, ...leases);
    expect(sent.filter((name) => name === "head").length).toBeLessThanOrEqual(MAX_PROBES);
    expect(sent.filter((name) => name === "metadata")).toHaveLength(leases.length);
    for (const { election } of leases) expect(widthMs(election)).toBeLessThanOrEqual(SHARP_MS);
  });

  it("is made sharp by another leader of the process if the reading one ends its term", async () => {
    const [reading, waiting] = [await win(), await win(a, { election: "second" })];
    for (const lease of [reading, waiting]) await azure.run(a.store.renew(lease, LIMITS));
    await azure.run(a.store.release(reading, LIMITS));
    await azure.clock.advance(10_000);
    expect(widthMs("second")).toBeLessThanOrEqual(SHARP_MS);
  });

  it("stays as it is once the lease is released", async () => {
    const lease = await win();
    await azure.run(a.store.renew(lease, LIMITS));
    await azure.run(a.store.release(lease, LIMITS));
    a.sent.length = 0;
    await azure.clock.advance(60_000);
    expect(a.sent).toEqual([]);
  });

  it("stays as it is if a read fails, until ten minutes later", async () => {
    const lease = await win();
    const before = widthMs();
    a.onRequest = ({ name }, send) => (name === "head" ? refusal(503, "ServerBusy") : send());
    expect(await leadFor(GRID_AGE_MS, lease)).toEqual(["head"]);
    expect(widthMs()).toBe(before);
    a.onRequest = (_, send) => send();
    expect(await leadFor(10_000, lease)).toContain("metadata");
    expect(widthMs()).toBeLessThanOrEqual(SHARP_MS);
  });
});
