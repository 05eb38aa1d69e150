import { Elector } from "@leasehold/core";
import { untilAborted } from "@leasehold/test-kit/leader-tasks";
import { openStore, type StoreName } from "@leasehold/test-kit/stores/stores";
import type { Adapter } from "./contender.ts";

/** Leasehold, on the store whose service is at the address. Its answer is a comparison with the clock at each question. */
export function leaseholdOn(store: StoreName, urlOf: (host: string) => string): Adapter {
  return {
    async connect(host, leaseDurationMs) {
      const opened = await openStore({ store, url: urlOf(host), containerName: "leasehold" });
      return {
        campaign(election, changed) {
          const elector = new Elector({ store: opened.store, election, leaseDurationMs, logger: false });
          for (const event of ["startedLeading", "ending", "stoppedLeading"] as const) elector.on(event, changed);
          const run = elector.run(untilAborted);
          return {
            leads: () => elector.isLeader,
            async stop() {
              await elector.stop();
              await run;
            },
          };
        },
        close: opened.close,
      };
    },
  };
}
