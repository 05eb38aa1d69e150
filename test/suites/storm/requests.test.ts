/** What a wrapped function sends until it knows that it does not lead, in a process that has just started: on every store that functions run on. */
import { describe, expect, test } from "vitest";
import { FUNCTION_STORES, functionRequests } from "../../programs/bench/function-requests.ts";
import { isMissing } from "@leasehold/test-kit/backends/missing-backend";
import { testStore, type StoreName } from "@leasehold/test-kit/stores/stores";

/** What is sent at most; on a quorum, to each of its members. */
interface Most {
  readonly decides: number;
  readonly leads: number;
  readonly doesAnOccurrence: number;
}

const MOST: Most = {
  // A look, and where the store's clock is not exact another one that confirms the first.
  decides: 2,
  // An acquisition, which is two on a blob, where a look needs no confirmation; and a release.
  leads: 4,
  // A look, a claim and its end; and then a look at the note of the last run, and the note.
  doesAnOccurrence: 6,
};
const MOST_OF: Partial<Record<StoreName, Most>> = {
  // An acquisition and a release are two each.
  etcd: { ...MOST, leads: 5 },
  // The markers and the roster are read first; then a look, a reading, a promise and a write, and a release. What is new to a member
  // has its marker read again, at the look and at the claim. The claim and the note of the last run are a promise and a write each.
  quorum: { decides: 3, leads: 7, doesAnOccurrence: 15 },
};

describe.each(FUNCTION_STORES)("%s", async (name) => {
  const missing = await isMissing((await testStore(name)).missing());
  const { decides, leads, doesAnOccurrence } = MOST_OF[name] ?? MOST;

  test.skipIf(missing)(
    "takes few requests to find that another leads, and few for all of an invocation that does, or for an occurrence",
    async () => {
      const counts = await functionRequests(name, 1);

      for (const [situation, sent] of counts) {
        const whole = situation.includes("fresh occurrence") ? doesAnOccurrence : leads;
        const most = situation.startsWith("cold") ? decides : whole;
        for (const { reads, writes } of sent) expect.soft(reads + writes, situation).toBeLessThanOrEqual(most);
      }
    },
  );
});
