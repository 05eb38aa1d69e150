/** A thousand elections on three servers of one process, over real HTTP and real files. */
import { stat } from "node:fs/promises";
import { once } from "node:events";
import { expect, test, vi } from "vitest";
import { Elector } from "@leasehold/core";
import { systemClock, sleep } from "@leasehold/core/provider";
import { Servers } from "./servers.ts";

const ELECTIONS = 1_000;
/** Longer than the whole test. */
const LEASE = 60_000;
/** Longer than the interval of renewals. */
const WATCHED_MS = 25_000;
/** Two servers have this many packets under way at most, each way. Each connection has two ends here. */
const MOST_SOCKETS = 6 * 20 * 2;

test(
  "a thousand elections have a leader each, on few connections, and heartbeats write nothing",
  { timeout: 600_000 },
  async () => {
    const servers = await Servers.of(["a", "b", "c"]);
    const stores = await servers.openAll();
    const terms = new Map<string, number[]>();
    const stopping = new AbortController();
    const runs = Array.from({ length: ELECTIONS }, (_, index) => `election-${index}`).flatMap((election) =>
      stores.map((store) =>
        new Elector({ store, election, leaseDurationMs: LEASE, logger: false }).run(
          async ({ term, signal }) => {
            terms.set(election, [...(terms.get(election) ?? []), term]);
            if (!signal.aborted) await once(signal, "abort");
          },
          { signal: stopping.signal },
        ),
      ),
    );
    await vi.waitFor(() => expect(terms.size).toBe(ELECTIONS), { timeout: 300_000, interval: 500 });

    const written = async (): Promise<number[]> =>
      await Promise.all(["a", "b", "c"].map(async (name) => (await stat(`${servers.directory(name)}/state`)).mtimeMs));
    const before = await written();
    await sleep(systemClock, WATCHED_MS);
    expect(await written()).toEqual(before);
    expect([...terms.values()].every((led) => led.length === 1)).toBe(true);
    const sockets = process.getActiveResourcesInfo().filter((each) => each === "TCPSocketWrap").length;
    expect(sockets).toBeGreaterThan(0);
    expect(sockets).toBeLessThanOrEqual(MOST_SOCKETS);

    stopping.abort();
    await Promise.all(runs);
  },
);
