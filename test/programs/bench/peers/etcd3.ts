import { randomUUID } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import { Etcd3, type Campaign } from "etcd3";
import type { Adapter } from "./contender.ts";

/** The value in the documentation of its `Election`. */
const AGAIN_MS = 5_000;

/**
 * npm's client of etcd, with its own elections. Its documented example believes `elected` even of a failed campaign, and then has
 * several campaigns at a time. Here only the last campaign counts.
 */
export const etcd3: Adapter = {
  connect(host, leaseDurationMs) {
    const client = new Etcd3({ hosts: host });
    return Promise.resolve({
      campaign(name, changed) {
        const election = client.election(name, leaseDurationMs / 1_000);
        const stopping = new AbortController();
        let campaign: Campaign;
        let leads = false;
        const begin = (): void => {
          const own = election.campaign(randomUUID());
          campaign = own;
          let hasFailed = false;
          own.on("elected", () => {
            leads = campaign === own && !hasFailed && !stopping.signal.aborted;
            changed();
          });
          own.once("error", () => {
            hasFailed = true;
            leads = false;
            changed();
            void delay(AGAIN_MS, undefined, { signal: stopping.signal }).then(begin, () => undefined);
          });
          // It may fail again later, but it ends only once.
          own.on("error", () => undefined);
        };
        begin();
        return {
          leads: () => leads,
          async stop() {
            leads = false;
            stopping.abort();
            await campaign.resign();
          },
        };
      },
      close: () => Promise.resolve(client.close()),
    });
  },
};
