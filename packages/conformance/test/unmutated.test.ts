import { cases, conformance, renderTable, type CaseResult, type Need, type StoreUnderTest } from "@leasehold/conformance";
import { describe, expect, it } from "vitest";
import { runAlone } from "./own-runner.ts";
import type { RecordServiceOptions } from "./record-place.ts";
import { recordSubject } from "./record-subject.ts";

const KINDS: Readonly<Record<string, RecordServiceOptions>> = {
  "a service that only stores": {},
  "a service that pushes": { pushes: true },
  "a service that may lose what it shows": { showsUndurable: true },
  "a service with an exact clock": { storeClock: { toleranceMs: 0, exact: true } },
  "a service with a clock that may step": { storeClock: { toleranceMs: 500, exact: false } },
};

describe("a correct store passes every case", () => {
  it.for(Object.entries(KINDS))("%s", async ([name, options]) => {
    const results = await runAlone(recordSubject(name, options));
    expect(results.filter(({ outcome }) => outcome === "failed")).toEqual([]);
    expect(results.map(({ id }) => id).toSorted()).toEqual(cases.map(({ id }) => id).toSorted());
    const table = renderTable(results);
    expect(table.split("\n\n")[0]!.split("\n")).toHaveLength(cases.length + 1);
  });
});

describe("the suite", () => {
  it("has a unique id in kebab-case for each case", () => {
    const ids = cases.map(({ id }) => id);
    expect(new Set(ids).size).toBe(ids.length);
    for (const id of ids) expect(id).toMatch(/^[a-z]+(-[a-z]+)*$/);
  });

  it("fails the test of a case that it records as failed, and gives each case its time limit", async () => {
    const given: Array<{ readonly body: () => Promise<void>; readonly timeoutMs: number }> = [];
    const runner = {
      describe: (_: string, body: () => void) => body(),
      it: (_: string, body: () => Promise<void>, timeoutMs: number) => void given.push({ body, timeoutMs }),
    };
    const subject: StoreUnderTest = { ...recordSubject("broken", {}), open: () => Promise.reject(new Error("no service")) };
    const results: CaseResult[] = [];
    conformance(runner, subject, (result) => results.push(result));

    await expect(given[0]?.body()).rejects.toThrow("no service");
    expect(results.at(-1)).toEqual({ subject: "broken", id: cases[0]!.id, outcome: "failed", reason: "no service" });
    expect(given[0]?.timeoutMs).toBe(60_000 + 60 * 15_000);
  });

  it("refuses to skip an unknown case", async () => {
    const subject: StoreUnderTest = { ...recordSubject("typo", {}), skips: { "aquire-on-nothing": "a typo" } };
    await expect(runAlone(subject)).rejects.toThrow("typo skips unknown cases: aquire-on-nothing");
  });

  it("notices a subject that has a feature listed in lacks, or lacks one that is not listed", async () => {
    const subject = recordSubject("liar", {});
    const { watch: _, ...others } = subject.lacks ?? {};
    for (const lacks of [others, { ...subject.lacks, transfer: "no time for it" }] as Array<Partial<Record<Need, string>>>) {
      const skips = Object.fromEntries(cases.flatMap(({ id }) => (id === "capabilities" ? [] : [[id, "not the point"]])));
      const results = await runAlone({ ...subject, lacks, skips });
      expect(results.find(({ id }) => id === "capabilities")).toMatchObject({ outcome: "failed" });
    }
  });

  it("shows in its table what passed, what failed and why a case was skipped, and leaves no cell empty", () => {
    const [first, second, third] = cases.map(({ id }) => id) as [string, string, string];
    const table = renderTable([
      { subject: "b", id: first, outcome: "passed" },
      { subject: "a", id: first, outcome: "failed", reason: "it broke" },
      { subject: "a", id: second, outcome: "skipped", reason: "it cannot" },
    ]);
    const lines = table.split("\n");
    expect(lines[0]).toMatch(/^case +a +b$/);
    expect(lines[1]).toMatch(new RegExp(`^${first} +FAIL +pass$`));
    expect(lines[2]).toMatch(new RegExp(`^${second} +\\[1\\] +\\[2\\]$`));
    expect(lines[3]).toMatch(new RegExp(`^${third} +\\[2\\] +\\[2\\]$`));
    expect(lines.slice(-2)).toEqual(["[1] it cannot", "[2] did not run this time"]);
  });

  it("puts the part of a name in parentheses on a second line, and columns that are too wide into a further table", () => {
    const [first] = cases.map(({ id }) => id) as [string];
    const results = ["a (one)", "b", "c (two)"].map((subject) => ({ subject, id: first, outcome: "passed" as const }));
    const lines = renderTable(results).split("\n");
    expect(lines[0]).toMatch(/^case +a +b +c$/);
    expect(lines[1]).toMatch(/^ +\(one\) +\(two\)$/);
    expect(lines[2]).toMatch(new RegExp(`^${first} +pass +pass +pass$`));
    const width = lines[2]!.length;
    const [upper, lower] = renderTable(results, { width }).split("\n\n") as [string, string];
    expect(upper.split("\n")[0]).toMatch(/^case +a +b$/);
    expect(lower.split("\n")[0]).toMatch(/^case +c$/);
    // Even in a very narrow table each subject has a column beside the cases.
    const narrow = renderTable(results, { width: 1 })
      .split("\n")
      .filter((line) => line.startsWith("case"));
    expect(narrow.map((line) => line.split(/ +/))).toEqual([
      ["case", "a"],
      ["case", "b"],
      ["case", "c"],
    ]);
    for (const table of [upper, lower]) {
      expect(table.split("\n")).toHaveLength(cases.length + 2);
      for (const line of table.split("\n")) expect(line.length).toBeLessThanOrEqual(width);
    }
  });
});
