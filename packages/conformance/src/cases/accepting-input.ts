import assert from "node:assert/strict";
import { isLeaseholdError } from "@leasehold/core";
import type { Lease } from "@leasehold/core/provider";
import type { Case } from "../case.ts";

/**
 * Names that a path, a URL, a header, a query or a table could misread. No name begins with another name and a slash: on etcd, the
 * keys of one election would lie inside the other.
 */
const NAMES: readonly string[] = [
  "nightly-billing",
  "Nightly-Billing",
  "NIGHTLY-BILLING",
  "nightly-billing ",
  " nightly-billing",
  "nightly  billing",
  "nightly_billing",
  "a/b//c/",
  "a/b/c",
  "/a/b/c",
  "abc",
  "a/../../other",
  ".",
  "..",
  "billing.",
  "billing",
  "a\\b",
  "100%",
  "a%2Fb",
  "a?b=c&d#e",
  "!~*'()_-.",
  "\"'`<>|^{}[]",
  "'; DROP TABLE leases; --",
  "$where",
  "__proto__",
  "__x__",
  "constructor",
  "null",
  "0",
  "00",
  "👩‍👩‍👧‍👦🏳️‍🌈",
  "ليلة/الفوترة",
  "caf\u00e9",
  "cafe\u0301",
  "Straße",
  "STRASSE",
  "ß",
  "ss",
  "\u0130stanbul",
  "istanbul",
  "\u2126",
  "\u03a9",
  "\ufb01ne",
  "fine",
  "a\u200bb",
  "ab",
  "\u{10ffff}",
  "\ufffd",
  "\ufeffbom",
  "bom",
  "\u4e0a\u8def",
  "x".repeat(255),
  `${"x".repeat(254)}y`,
  "界".repeat(85),
  `${"𝄞".repeat(63)}abc`,
];

const BAD_NAMES: Readonly<Record<string, unknown>> = {
  "no name": "",
  "a high surrogate alone": "a\ud83d",
  "a low surrogate alone": "\udca9b",
  "two surrogates in the wrong order": "\udca9\ud83d",
  "a newline": "a\nb",
  "a NUL": "a\u0000b",
  DEL: "a\u007fb",
  "a C1 control character": "a\u0085b",
  "256 bytes": "x".repeat(256),
  "256 bytes in 255 characters": `${"x".repeat(254)}é`,
  "a number": 7,
};

const VALUES: readonly string[] = [
  "",
  " ",
  "  spaces at both ends  ",
  "line one\r\nline two\n\ttabbed",
  "http://10.0.0.7:8080/leader?x=1&y=2#z",
  '{"json":"\\"quoted\\""}',
  "'single' \"double\" `back` \\slash\\ %percent% $dollar",
  "null",
  "👩‍👩‍👧‍👦 ليلة 界 café cafe\u0301",
  "\u{10ffff}\ufffd\ufeff",
];

/** Cases: names, values and durations are accepted, or refused before anything is sent. */
export const acceptingInput: readonly Case[] = [
  {
    id: "names-within-names",
    title: "an election whose name begins with another election's name and a slash is independent of that election",
    async run(scene) {
      const [a, b] = await scene.connect(2);
      const outer = await scene.win(a, "outer");
      const inner = await scene.win(b, "inner", { election: `${scene.election}/inner` });
      await scene.leave(a, outer);
      scene.isFree(await scene.look(b), outer.term);
      await scene.keep(b, inner);
      const next = await scene.win(a, "outer");
      await scene.leave(b, inner);
      await scene.keep(a, next);
    },
  },
  {
    id: "names-round-trip",
    title: "any name is an election and a candidate of its own, compared by code point: case, spaces and composition matter",
    async run(scene) {
      const [a, b] = await scene.connect(2);
      const leases: Lease[] = [];
      // All of them are held at once. So many requests may take a busy machine longer than the suite's lease.
      const leaseDurationMs = Math.min(10 * scene.leaseMs, a.capabilities.maxLeaseMs);
      for (const name of NAMES) leases.push(await scene.win(a, name, { election: name, value: name, leaseDurationMs }));
      for (const [index, name] of NAMES.entries()) {
        const seen = await scene.look(b, {}, name);
        const found = [seen?.election, seen?.term, seen?.holder, seen?.value];
        assert.deepEqual(found, [name, leases[index]?.term, name, name], `the election ${JSON.stringify(name)}`);
        await scene.keep(a, leases[index] as Lease);
      }
      for (const lease of leases.toReversed()) {
        await scene.leave(a, lease);
        scene.isFree(await scene.look(b, {}, lease.election), lease.term);
      }
    },
  },
  {
    id: "names-refused",
    title: "a name that no store can hold is refused before any request, by every call",
    async run(scene) {
      const [a] = await scene.connect(1);
      for (const [what, bad] of Object.entries(BAD_NAMES)) {
        const name = bad as string;
        await scene.refuses(`an election of ${what}`, name, () => a.acquire(scene.asking("a", { election: name })));
        await scene.refuses(`a candidateId of ${what}`, scene.election, () => a.acquire(scene.asking(name)));
        await scene.refuses(`a read of ${what}`, name, () => a.read(name));
        await scene.refuses(`a break of ${what}`, name, () => a.break(name, { reason: "why not" }));
        if (a.capabilities.transfer) {
          await scene.refuses(`a transfer of ${what}`, name, () => a.transfer(name, "b", {}));
          await scene.refuses(`a transfer to ${what}`, scene.election, () => a.transfer(scene.election, name, {}));
        }
      }
      assert.equal(await scene.look(a), undefined);
    },
  },
  {
    id: "values-round-trip",
    title: "any value comes back as it was, whether acquired with or published, up to maxValueBytes",
    async run(scene) {
      const [a, b] = await scene.connect(2);
      const { maxValueBytes } = a.capabilities;
      const largest = [
        "v".repeat(maxValueBytes),
        "é".repeat(Math.floor(maxValueBytes / 2)),
        "𝄞".repeat(Math.floor(maxValueBytes / 4)),
        "%".repeat(maxValueBytes),
        '"'.repeat(maxValueBytes),
      ];
      for (const value of [...VALUES, ...largest]) {
        const about = `the value ${JSON.stringify(value.slice(0, 40))} of ${value.length} characters`;
        const lease = await scene.win(a, "a", { value });
        assert.equal((await scene.look(b))?.value, value, about);
        await scene.keep(a, lease);
        assert.ok((await a.publish(lease, "between", scene.limits)).held);
        assert.ok((await a.publish(lease, value, scene.limits)).held);
        assert.equal((await scene.look(b))?.value, value, about);
        await scene.leave(a, lease);
      }
    },
  },
  {
    id: "values-refused",
    title: "a value that is too long or no text is refused before any request",
    async run(scene) {
      const [a] = await scene.connect(1);
      const { maxValueBytes } = a.capabilities;
      const lease = await scene.win(a, "a", { value: "good" });
      const bad: Readonly<Record<string, unknown>> = {
        "one byte too many": "v".repeat(maxValueBytes + 1),
        "one byte too many by its last character": `${"v".repeat(maxValueBytes - 1)}é`,
        "a lone surrogate": "a\ud83d",
        "a number": 7,
      };
      for (const [what, value] of Object.entries(bad)) {
        const { election } = scene;
        await scene.refuses(`a value of ${what}`, election, () => a.acquire(scene.asking("a", { value: value as string })));
        await scene.refuses(`a publication of ${what}`, election, () => a.publish(lease, value as string, scene.limits));
      }
      await scene.keep(a, lease);
      assert.equal((await scene.look(a))?.value, "good");
    },
  },
  {
    id: "values-with-controls",
    title: "a value with control characters comes back as it was, or is refused before any request",
    async run(scene) {
      const [a, b] = await scene.connect(2);
      const lease = await scene.win(a, "a");
      for (const value of ["\u0000", "a\u0000b", "\u0001\u001f\u007f\u0085", "\u001b[2J"]) {
        const ending = await scene.ending(a.publish(lease, value, scene.limits));
        if ("error" in ending) {
          const error = String(ending.error);
          assert.ok(isLeaseholdError(ending.error, "CONFIGURATION"), `${JSON.stringify(value)} fails with ${error}`);
          await scene.refuses("such a value", scene.election, () => a.publish(lease, value, scene.limits));
        } else {
          assert.equal((await scene.look(b))?.value, value);
        }
      }
      await scene.keep(a, lease);
    },
  },
  {
    id: "lease-limits",
    title: "a lease outside the stated bounds is refused before any request",
    async run(scene) {
      const [a] = await scene.connect(1);
      const { minLeaseMs, maxLeaseMs, leaseGranularityMs } = a.capabilities;
      const bad = [0, -1, Number.NaN, Infinity, minLeaseMs - 1, maxLeaseMs + leaseGranularityMs];
      if (leaseGranularityMs > 1) bad.push(minLeaseMs + 1);
      for (const leaseDurationMs of bad) {
        const request = scene.asking("a", { leaseDurationMs });
        await scene.refuses(`a lease of ${leaseDurationMs} ms`, scene.election, () => a.acquire(request));
      }
      for (const leaseDurationMs of [minLeaseMs, maxLeaseMs]) {
        const election = `${scene.election}-${leaseDurationMs}`;
        const lease = await scene.win(a, "a", { election, leaseDurationMs });
        assert.equal(lease.leaseDurationMs, leaseDurationMs);
      }
    },
  },
  {
    id: "foreign-record",
    title: "a record that is not a lease causes an error that names its election, and is left as it was",
    needs: ["foreign"],
    async run(scene) {
      const { place, election } = scene;
      for (const what of ["foreign", "newer-schema"] as const) {
        const [a, b] = await scene.connect(2);
        const planted = `${election}-${what}`;
        await place.writeRaw?.(planted, what);
        const before = await place.readRaw?.(planted);
        assert.ok(before !== undefined, "nothing was planted: the place needs writeRaw and readRaw, or lacks.foreign");
        const calls: ReadonlyArray<readonly [string, () => Promise<unknown>]> = [
          ["read", () => scene.look(a, {}, planted)],
          ["acquire", () => a.acquire(scene.asking("a", { election: planted }))],
          ["acquire by the store's clock", () => b.acquire(scene.asking("b", { election: planted, expiry: "store-clock" }))],
          ["break", () => a.break(planted, { reason: "in the way", ...scene.limits })],
          ["immediate break", () => a.break(planted, { reason: "in the way", immediate: true, ...scene.limits })],
        ];
        for (const [name, call] of calls) {
          const ending = await scene.ending(call());
          assert.ok("error" in ending, `${name} took a ${what} record for a lease`);
          assert.ok(
            isLeaseholdError(ending.error, "FOREIGN_RECORD"),
            `${name} of a ${what} record should be FOREIGN_RECORD; it is ${String(ending.error)}`,
          );
          assert.equal(ending.error.election, planted, "the error must name the election");
        }
        assert.deepEqual(await place.readRaw?.(planted), before, `a ${what} record was changed`);
      }
    },
  },
];
