import { describe, expect } from "vitest";
import { acquiring, ELECTION, LIMITS, win } from "@leasehold/test-kit/acquisitions";
import type { BlobWorld } from "./blob-world.ts";
import { test } from "./world-test.ts";

/** Names that have another meaning in a path, a URL or a header. */
const NAMES: Readonly<Record<string, string>> = {
  plain: "nightly-billing",
  "a path": "a/b//c/",
  "a path upwards": "../../other",
  "two dots": "..",
  "a trailing dot": "billing.",
  "a backslash": "a\\b",
  percent: "100%",
  "already encoded": "a%2Fb",
  "a query": "a?b=c&d#e",
  "spaces around": " billing ",
  punctuation: "!~*'()_-.",
  quotes: "\"'`<>|^{}[]",
  emoji: "👩‍👩‍👧‍👦🏳️‍🌈",
  "right to left": "ليلة/الفوترة",
  composed: "caf\u00e9",
  decomposed: "cafe\u0301",
  "upper case": "Nightly-Billing",
  "a note": "nightly-billing.note",
  "255 bytes of ASCII": "x".repeat(255),
  "255 bytes of three each": "界".repeat(85),
  "255 bytes of four each and more": `${"𝄞".repeat(63)}abc`,
};

describe("any name and value", () => {
  test.for(Object.entries(NAMES))("as a name: %s", async ([, name], { world }) => {
    const store = world.store();
    const lease = await win(store, { election: name, candidateId: name, value: name });

    expect(lease).toMatchObject({ election: name, candidateId: name, term: 1 });
    await expect(store.read(name)).resolves.toMatchObject({ election: name, state: "held", holder: name, value: name });
    await expect(world.store().read(name)).resolves.toMatchObject({
      election: name,
      state: "unknown",
      holder: name,
      value: name,
    });
    await expect(store.renew(lease, LIMITS)).resolves.toMatchObject({ held: true });
    await store.break(name, { reason: name });
    await expect(world.store().read(name)).resolves.toMatchObject({ state: "ending", endingReason: name });
    await expect(blobNames(world)).resolves.toHaveLength(2);
  });

  const largest = {
    "of one byte each": "v".repeat(2_048),
    "of four bytes each": "𝄞".repeat(512),
    "that all must be encoded": "%".repeat(2_048),
  };
  test.for(Object.entries(largest))("a value of 2,048 bytes %s, with the longest names", async ([, value], { world }) => {
    const store = world.store();
    const longest = "界".repeat(85);
    const lease = await win(store, { election: longest, candidateId: longest, value });

    await expect(world.store().read(longest)).resolves.toMatchObject({ holder: longest, value });
    const reversed = [...value].toReversed().join("");
    await store.publish(lease, reversed.slice(0, -2), LIMITS);
    await expect(world.store().read(longest)).resolves.toMatchObject({ value: reversed.slice(0, -2) });
  });
});

describe("metadata of others on the blob", () => {
  test("is preserved by every write", async ({ world }) => {
    await world.container.create();
    const theirs = { owner: "Müller".normalize("NFC").replace("ü", "ue"), cost_center: "4711", Stage: "Prod" };
    await world.container.getBlockBlobClient(ELECTION).upload("", 0, { metadata: theirs });
    const store = world.store();

    const lease = await win(store, { value: "http://a" });
    await store.publish(lease, "http://b", LIMITS);
    await store.release(lease, LIMITS);
    await win(world.store(), { candidateId: "b" });

    const { metadata = {} } = await world.blob.getProperties();
    const lowerCase = Object.fromEntries(Object.entries(metadata).map(([key, value]) => [key.toLowerCase(), value]));
    expect(lowerCase).toMatchObject({ owner: "Mueller", cost_center: "4711", stage: "Prod", leasehold_term: "2" });
  });

  test("is preserved too if it is written while the lease is free", async ({ world }) => {
    const store = world.store();
    await store.release(await win(store), LIMITS);
    const { metadata } = await world.blob.getProperties();
    await world.blob.setMetadata({ ...metadata, owner: "ops" });

    // The store still has the blob's state before that write.
    await expect(win(store)).resolves.toMatchObject({ term: 2 });
    await expect(world.blob.getProperties()).resolves.toMatchObject({ metadata: { owner: "ops", leasehold_term: "2" } });
  });
});

describe("a blob that is not a lease", () => {
  const ours = { leasehold_schema: "1", leasehold_term: "3", leasehold_termid: "t" };
  const foreign: Readonly<
    Record<string, { readonly content: string; readonly metadata: Record<string, string>; readonly problem: RegExp }>
  > = {
    "with content and no metadata": { content: "report", metadata: {}, problem: /it has content, and no metadata of a lease/ },
    "with content and other metadata": { content: "report", metadata: { owner: "ops" }, problem: /it has content/ },
    "of a newer schema": { content: "", metadata: { ...ours, leasehold_schema: "2" }, problem: /its schema is '2'/ },
    "with a term that is no number": { content: "", metadata: { ...ours, leasehold_term: "three" }, problem: /its term/ },
    "with a negative term": { content: "", metadata: { ...ours, leasehold_term: "-3" }, problem: /its term/ },
    "with half a term": { content: "", metadata: { ...ours, leasehold_term: "1.5" }, problem: /its term/ },
    "with a term beyond what numbers tell apart": {
      content: "",
      metadata: { ...ours, leasehold_term: "9007199254740993" },
      problem: /its term/,
    },
    "with an empty term": { content: "", metadata: { ...ours, leasehold_term: "%" }, problem: /its term/ },
    "with a blank term": { content: "", metadata: { ...ours, leasehold_term: "%20" }, problem: /its term/ },
    "with a hexadecimal term": { content: "", metadata: { ...ours, leasehold_term: "0x10" }, problem: /its term/ },
    "without a term": { content: "", metadata: { leasehold_schema: "1" }, problem: /its term/ },
    "with a term that cannot be decoded": { content: "", metadata: { ...ours, leasehold_term: "%E0%A4%A" }, problem: /its term/ },
  };

  test.for(Object.entries(foreign))(
    "%s: an error that names it, and it is left untouched",
    async ([, { content, metadata, problem }], { world }) => {
      await world.container.create();
      await world.container.getBlockBlobClient(ELECTION).upload(content, content.length, { metadata });
      const before = await world.blob.getProperties();
      const store = world.store();

      for (const attempt of [
        () => store.read(ELECTION),
        () => store.acquire(acquiring()),
        () => store.break(ELECTION, { reason: "test" }),
        () => store.transfer(ELECTION, "b"),
      ]) {
        const error = await world.witness.failureOf(attempt());
        expect(error).toMatchObject({ code: "FOREIGN_RECORD", election: ELECTION });
        expect(error.message).toMatch(problem);
        expect(error.message).toContain(`the blob '${ELECTION}' in container '${world.container.containerName}'`);
        expect(error.message).toContain("left untouched");
      }
      const after = await world.blob.getProperties();
      expect([after.etag, after.leaseState]).toEqual([before.etag, "available"]);
      expect((await world.blob.downloadToBuffer()).toString()).toBe(content);
    },
  );

  test("a note without Leasehold's metadata does not count", async ({ world }) => {
    const store = world.store();
    await win(store);
    await world.container.getBlockBlobClient(`${ELECTION}.note`).upload("to do", 5, { metadata: { leasehold_note_schema: "9" } });
    await world.blob.getBlobLeaseClient(someId()).breakLease(60);

    const seen = await world.store().read(ELECTION);
    expect(seen).toMatchObject({ state: "ending", holder: "a" });
    expect(seen).not.toHaveProperty("endingReason");
  });
});

async function blobNames(world: BlobWorld): Promise<string[]> {
  const names: string[] = [];
  for await (const { name } of world.container.listBlobsFlat()) names.push(name);
  return names;
}

function someId(): string {
  return crypto.randomUUID();
}
