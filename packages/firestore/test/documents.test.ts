import { ConfigurationError } from "@leasehold/core";
import { FirestoreLeaseStore } from "@leasehold/firestore";
import { fc, test as propertyTest } from "@fast-check/vitest";
import { describe, expect } from "vitest";
import { Paths } from "../src/paths.ts";
import { acquiring, ELECTION, LIMITS, win } from "@leasehold/test-kit/acquisitions";
import { FENCE_PATH, LEASE_PATH } from "./firestore-world.ts";
import { test } from "./world-test.ts";

const UUID = /^[0-9a-f-]{36}$/u;

describe("a lease document", () => {
  test("holds the record as plain fields, and its fence beside it", async ({ world }) => {
    const store = world.store();
    const lease = await win(store, { value: "http://a:8080/?q=ü😀", candidateId: "host-1-α" });

    await expect(world.fieldsAt(LEASE_PATH)).resolves.toEqual({
      schema: 3,
      term: 1,
      termId: lease.termId,
      candidateId: "host-1-α",
      value: "http://a:8080/?q=ü😀",
      nonce: expect.stringMatching(UUID),
      leaseDurationMs: 15_000,
      renewIntervalMs: 5_000,
      history: expect.stringMatching(/^\[\[1,"host-1-α",\d+\]\]$/) as string,
    });
    await expect(world.fieldsAt(FENCE_PATH)).resolves.toEqual({ term: 1, termId: lease.termId });
    expect((await store.check({ election: ELECTION })).fenceTerm).toBe(1);
    expect((await store.check({ election: "another" })).fenceTerm).toBe(undefined);
    await expect(world.store().read(ELECTION)).resolves.toMatchObject({
      state: "held",
      term: 1,
      holder: "host-1-α",
      value: "http://a:8080/?q=ü😀",
      leaseDurationMs: 15_000,
    });
  });

  test("is read as it was written, in every form", async ({ world }) => {
    const store = world.store();
    // An interval need not be a whole number.
    const lease = await win(store, { value: "", leaseDurationMs: 1_500, renewIntervalMs: 0.5 + 499 });
    await expect(world.fieldsAt(LEASE_PATH)).resolves.toMatchObject({
      leaseDurationMs: 1_500,
      renewIntervalMs: 499.5,
      value: "",
    });
    await expect(world.store().read(ELECTION)).resolves.toMatchObject({ leaseDurationMs: 1_500, value: "" });

    await world.store().break(ELECTION, { reason: "wörtlich: {}" });
    await expect(world.fieldsAt(LEASE_PATH)).resolves.toMatchObject({ broken: { reason: "wörtlich: {}" }, termId: lease.termId });
    await expect(world.store().read(ELECTION)).resolves.toMatchObject({ state: "ending", endingReason: "wörtlich: {}" });
    await expect(world.fieldsAt(FENCE_PATH)).resolves.toEqual({ term: 1, termId: null });

    await store.release(lease, LIMITS);
    const vacant = await world.fieldsAt(LEASE_PATH);
    expect(vacant).toMatchObject({ termId: null, term: 1, candidateId: "a", broken: { reason: "wörtlich: {}" } });
    for (const gone of ["value", "nonceTime"]) expect(vacant).not.toHaveProperty(gone);
    await expect(world.store().read(ELECTION)).resolves.toMatchObject({ state: "vacant", term: 1 });

    // No leader is there to drain, so the transfer reserves the election.
    const stopping = new AbortController();
    const clock = world.clock();
    const transfer = world
      .store({ clock })
      .transfer(ELECTION, "b", { transferTimeoutMs: 7_000, signal: stopping.signal })
      .catch(() => "aborted");
    await expect
      .poll(() => world.fieldsAt(LEASE_PATH))
      .toMatchObject({ bars: [{ untilMs: 7_000, except: { candidateId: "b" } }] });
    await expect(world.store().read(ELECTION)).resolves.toMatchObject({
      state: "vacant",
      bar: { kind: "transfer", candidateId: "b" },
    });
    await expect(world.store().acquire(acquiring({ candidateId: "c" }))).resolves.toMatchObject({ acquired: false });
    stopping.abort();
    await expect(transfer).resolves.toBe("aborted");

    // The record does not keep fields of the term before.
    await win(world.store(), { candidateId: "b" });
    const fresh = await world.fieldsAt(LEASE_PATH);
    for (const gone of ["bars", "broken", "value", "nonceTime"]) expect(fresh).not.toHaveProperty(gone);
    expect(fresh).toMatchObject({ term: 2, candidateId: "b" });
  });

  test("may have the largest terms", async ({ world }) => {
    const term = Number.MAX_SAFE_INTEGER - 1;
    const store = world.store();
    const lease = await win(store, { minTerm: term });
    await expect(store.renew(lease, LIMITS)).resolves.toMatchObject({ held: true });
    await expect(world.store().read(ELECTION)).resolves.toMatchObject({ term });
  });

  test("keeps the fields that others have added to it", async ({ world }) => {
    const store = world.store();
    const lease = await win(store, { value: "value" });
    const odd = { halfOfATime: { seconds: 1 }, theOther: { nanoseconds: 1 }, noDate: { toDate: "tomorrow" } };
    const theirs = { owner: "ops", tags: ["a"], at: new Date(0), nothing: null, nested: { "odd key": true }, ...odd };
    await world.aside((firestore) => firestore.doc(LEASE_PATH).set(theirs, { merge: true }));

    await expect(store.renew(lease, LIMITS)).resolves.toMatchObject({ held: true });
    await store.publish(lease, "other", LIMITS);
    await store.release(lease, LIMITS);
    await win(world.store(), { candidateId: "b" });

    const { at, ...others } = theirs;
    const fields = await world.fieldsAt(LEASE_PATH);
    expect(fields).toMatchObject({ ...others, term: 2 });
    expect((fields!["at"] as FirebaseFirestore.Timestamp).toDate()).toEqual(at);
    await expect(world.store().read(ELECTION)).resolves.toMatchObject({ state: "held", term: 2 });
  });
});

describe("a document that is not a lease", () => {
  const documents: Readonly<Record<string, FirebaseFirestore.DocumentData>> = {
    "somebody's own": { name: "Ada", tags: ["x"], at: new Date(0), where: null },
    empty: {},
    "of a later version": { schema: 2, term: 7, leader: { id: "x" } },
    "with a term that is no number": {
      schema: 3,
      term: "7",
      termId: null,
      candidateId: null,
      nonce: "somebody's nonce",
      leaseDurationMs: 1,
      renewIntervalMs: 1,
    },
    "with a duration that is a list": {
      schema: 3,
      term: 7,
      termId: null,
      candidateId: null,
      nonce: "somebody's nonce",
      leaseDurationMs: [1],
      renewIntervalMs: 1,
    },
  };

  test.for(Object.entries(documents))("%s: is named, and left as it is", async ([name, data], { world }) => {
    const put = await world.aside((firestore) => firestore.doc(LEASE_PATH).set(data));
    const store = world.store();
    const attempts = [
      () => store.read(ELECTION),
      () => store.acquire(acquiring()),
      () => store.break(ELECTION, { reason: "test" }),
      () => store.transfer(ELECTION, "b"),
    ];

    for (const attempt of attempts) {
      const error = await world.witness.failureOf(attempt());
      expect(error).toMatchObject({ code: "FOREIGN_RECORD", election: ELECTION });
      expect(error.message).toMatch(
        name === "of a later version" ? /its schema is 2, and this version reads schema 3/ : /cannot be read/,
      );
    }
    expect(world.commits).toEqual([]);
    const updated = await world.aside(async (firestore) => (await firestore.doc(LEASE_PATH).get()).updateTime);
    expect(updated).toEqual(put.writeTime);
  });

  test("is not overwritten by a holder that finds it", async ({ world }) => {
    const store = world.store();
    const lease = await win(store);
    await world.aside((firestore) => firestore.doc(LEASE_PATH).set({ name: "Ada" }));
    await expect(world.witness.failureOf(store.renew(lease, LIMITS))).resolves.toMatchObject({ code: "FOREIGN_RECORD" });
    await expect(world.witness.failureOf(store.release(lease, LIMITS))).resolves.toMatchObject({ code: "FOREIGN_RECORD" });
    await expect(world.fieldsAt(LEASE_PATH)).resolves.toEqual({ name: "Ada" });
  });
});

describe("names", () => {
  const names = [
    ".",
    "..",
    "...",
    "__x__",
    "____",
    "__",
    "a/b",
    "/",
    "//",
    "100%",
    "%2E",
    "%5F_x__",
    "a b+c",
    "🔧 Wahl",
    "'\"`\\",
    // The same text in two normal forms.
    "\u{e9}",
    "e\u{301}",
    "*?#[]~",
    "x".repeat(255),
    "😀".repeat(63),
    "/".repeat(255),
  ];

  test("of every kind are watched and fenced", async ({ world }) => {
    const firestore = world.client();
    const store = world.store({ firestore });
    for (const election of names) {
      const lease = await win(store, { election });
      await firestore.runTransaction(async (transaction) => store.fence({ ...lease }, transaction));
      for await (const _ of store.watch!(election, { signal: world.ended })) break;
      await expect(store.read(election)).resolves.toMatchObject({ state: "held", election });
    }
  });

  const name = fc.string({ unit: "binary", minLength: 1, maxLength: 80 }).filter((text) => text.isWellFormed());
  const tricky = fc.stringMatching(/^(__)?[._%25EF/a]{1,8}(__)?$/u);
  /** Firestore's rules for ids: https://firebase.google.com/docs/firestore/quotas#collections_documents_and_fields */
  const isValid = (id: string): boolean =>
    id.isWellFormed() && Buffer.byteLength(id) <= 1_500 && !id.includes("/") && !/^\.{1,2}$/u.test(id) && !/^__.*__$/u.test(id);

  test.for(names)("%j makes a valid id", (election) => {
    const id = new Paths("leasehold").record(election).replace("leasehold/", "");
    expect(isValid(id)).toBe(true);
    expect(decodeURIComponent(id)).toBe(election);
  });

  propertyTest.prop([fc.oneof(name, tricky), fc.oneof(name, tricky)])("are told apart, and make valid ids", (a, b) => {
    const paths = new Paths("leasehold");
    const [collection, id, fence, current, ...rest] = paths.fence(a).split("/");
    expect([collection, fence, current, rest]).toEqual(["leasehold", "fence", "current", []]);
    expect(paths.record(a)).toBe(`leasehold/${id}`);
    expect(isValid(id!)).toBe(true);
    expect(decodeURIComponent(id!)).toBe(a);
    expect(paths.record(a) === paths.record(b)).toBe(a === b);
  });
});

test("an unknown option is refused at once", () => {
  const make = (): unknown => new FirestoreLeaseStore({ colection: "leases" } as never);
  expect(make).toThrow(ConfigurationError);
  expect(make).toThrow("FirestoreLeaseStore has no option 'colection'. Was 'collection' meant?");
});

describe("the collection", () => {
  test.for(["leasehold", "apps/billing/leases", "ünï cödé", "a.b"])("%s holds the documents", async (collection, { world }) => {
    await win(world.store({ collection }));
    await expect(world.fieldsAt(`${collection}/${ELECTION}`)).resolves.toMatchObject({ term: 1 });
    await expect(world.fieldsAt(`${collection}/${ELECTION}/fence/current`)).resolves.toMatchObject({ term: 1 });
  });

  test.for(["", "a/b", "a//b", "/a", "a/", "/", ".", "..", "__x__", "a/../b", "a/b/__c__", 5, null, {}])(
    "%j is refused at once",
    (collection) => {
      const make = (): unknown => new FirestoreLeaseStore({ collection: collection as string });
      expect(make).toThrow(ConfigurationError);
      expect(make).toThrow(/collection is .*; it must be the path of a collection, such as 'leasehold'/);
    },
  );
});
