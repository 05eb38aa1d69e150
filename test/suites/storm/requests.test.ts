/** What a wrapped function sends until it knows that it does not lead, in a process that has just started: on every store that functions run on. */
import { describe, expect, test } from "vitest";
import { FUNCTION_STORES, functionRequests } from "../../programs/bench/function-requests.ts";
import { isMissing } from "@leasehold/test-kit/backends/missing-backend";
import { testStore, type StoreName } from "@leasehold/test-kit/stores/stores";

/** A look, and where the store's clock is not exact another one that confirms the first. */
const TO_DECIDE = 2;
/** An acquisition, which is two on a blob, where a look needs no confirmation; and a release. Either is two on etcd. */
const toLead = (name: StoreName): number => (name === "etcd" ? 5 : 4);
/** A look, a claim and its end; and then a look at the note of the last run, and the note. */
const TO_DO_AN_OCCURRENCE = 6;

describe.each(FUNCTION_STORES)("%s", async (name) => {
  const missing = await isMissing((await testStore(name)).missing());

  test.skipIf(missing)(
    "takes two requests at most to find that another leads, and few for all of an invocation that does, or for an occurrence",
    async () => {
      const counts = await functionRequests(name, 1);

      for (const [situation, sent] of counts) {
        const leads = situation.includes("fresh occurrence") ? TO_DO_AN_OCCURRENCE : toLead(name);
        const most = situation.startsWith("cold") ? TO_DECIDE : leads;
        for (const { reads, writes } of sent) expect.soft(reads + writes, situation).toBeLessThanOrEqual(most);
      }
    },
  );
});
