import { cases } from "@leasehold/conformance";
import { describe, expect, it } from "vitest";
import { mutants } from "./mutants.ts";
import { runAlone } from "./own-runner.ts";
import { recordSubject } from "./record-subject.ts";

// A case that waits for an effect that its mutant never has gives up in real time.
describe.concurrent("the suite catches", () => {
  it.for(mutants)("$name, by $caughtBy", async ({ name, caughtBy, options }) => {
    const others = cases.filter(({ id }) => id !== caughtBy);
    const skips = Object.fromEntries(others.map(({ id }) => [id, "another case is there for this mutant"]));
    const results = await runAlone({ ...recordSubject(name, options), skips });
    expect(results.filter(({ outcome }) => outcome !== "skipped")).toMatchObject([{ id: caughtBy, outcome: "failed" }]);
  });
});
