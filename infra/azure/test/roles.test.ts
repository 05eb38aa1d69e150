import { ContainerClient, type StoragePipelineOptions } from "@azure/storage-blob";
import { BlobLeaseStore } from "@leasehold/azure-blob";
import { describe, expect, test } from "vitest";
import { rightsIn } from "./role-evaluation.ts";
import { emptyStack, leasesIn, synthesized } from "./synthesized.ts";

const BLOBS = "Microsoft.Storage/storageAccounts/blobServices/containers/blobs";
const READ = `${BLOBS}/read`;
const WRITE = `${BLOBS}/write`;
/** Every other action on a blob. */
const OTHERS = [
  "delete",
  "add/action",
  "move/action",
  "deleteBlobVersion/action",
  "permanentDelete/action",
  "tags/write",
  "filter/action",
  "runAsSuperUser/action",
  "immutableStorage/runAsSuperUser/action",
].map((action) => `${BLOBS}/${action}`);

/** Names that need encoding, that resemble others, or that a condition could misread. */
const ELECTIONS = [
  "billing",
  "a.b",
  "a/b",
  "*",
  "?",
  "ticks",
  "it's",
  "{x}",
  "größe 1",
  "billing.note",
  "%41",
  "${var.x}",
  "\\*",
];

/** Returns every blob that the real store requests for one election. */
async function blobsOf(election: string): Promise<string[]> {
  const asked = new Set<string>();
  const httpClient: NonNullable<StoragePipelineOptions["httpClient"]> = {
    sendRequest: async (request) => {
      // The service decodes the path once. The result is the blob's name.
      asked.add(decodeURIComponent(new URL(request.url).pathname).replace(/^\/leases\/?/, ""));
      throw new Error("there is no service");
    },
  };
  const container = new ContainerClient("https://account.blob.core.windows.net/leases", undefined, { httpClient });
  const store = new BlobLeaseStore({ container });
  const limits = { timeoutMs: 1_000 };
  const quiet = async (call: Promise<unknown>): Promise<void> => void (await call.catch(() => {}));
  await quiet(store.read(election, limits));
  const occurrences = store.occurrences(election, { retentionMs: 86_400_000 });
  await quiet(occurrences.read(`${election}@2026-11-20T10:00:00.000Z`, limits));
  return [...asked];
}

describe("a candidate", () => {
  test.each(ELECTIONS)("of %s may read and write every blob that the store asks for", async (election) => {
    const stack = emptyStack();
    leasesIn(stack).grantCandidate({ principalId: "me" }, election);
    const mayDo = rightsIn(stack);
    const blobs = await blobsOf(election);
    expect(blobs).toHaveLength(2);
    const [lease = ""] = blobs;
    for (const path of [...blobs, `${lease}.note`]) {
      expect([path, mayDo("me", { action: READ, path })]).toEqual([path, true]);
      expect([path, mayDo("me", { action: WRITE, path })]).toEqual([path, true]);
    }
  });

  test.each(ELECTIONS)("of %s may not touch another election's", async (election) => {
    const stack = emptyStack();
    leasesIn(stack).grantCandidate({ principalId: "me" }, election);
    const mayDo = rightsIn(stack);
    for (const other of ELECTIONS.filter((name) => name !== election)) {
      for (const path of await blobsOf(other)) {
        expect([path, mayDo("me", { action: READ, path })]).toEqual([path, false]);
        expect([path, mayDo("me", { action: WRITE, path })]).toEqual([path, false]);
      }
    }
  });

  test("may not use a similar name, or list", () => {
    const stack = emptyStack();
    leasesIn(stack).grantCandidate({ principalId: "me" }, "billing");
    const mayDo = rightsIn(stack);
    const paths = [
      "Billing",
      "billing2",
      "billing/x",
      "xbilling",
      "billing.note2",
      "ticks/billing",
      "ticks/billing2/x",
      "ticks/x/billing/y",
      "",
    ];
    for (const path of [...paths, undefined]) {
      expect([path, mayDo("me", { action: WRITE, path })]).toEqual([path, false]);
      expect([path, mayDo("me", { action: READ, path })]).toEqual([path, false]);
    }
  });

  test("of several elections may lead each", () => {
    const stack = emptyStack();
    leasesIn(stack).grantCandidate({ principalId: "me" }, "billing", "report");
    const mayDo = rightsIn(stack);
    const may = (path: string): boolean => mayDo("me", { action: WRITE, path });
    expect(["billing", "report", "report.note", "ticks/report/x", "other"].map(may)).toEqual([true, true, true, true, false]);
  });
});

describe("an observer", () => {
  test("reads its elections' blobs, and writes nothing", () => {
    const stack = emptyStack();
    leasesIn(stack).grantObserver({ principalId: "me" }, "billing");
    const mayDo = rightsIn(stack);
    for (const path of ["billing", "billing.note", "ticks/billing/x"]) {
      expect(mayDo("me", { action: READ, path })).toBe(true);
      expect(mayDo("me", { action: WRITE, path })).toBe(false);
    }
    expect(mayDo("me", { action: READ, path: "report" })).toBe(false);
  });
});

describe("an administrator", () => {
  test("reads, writes and lists", () => {
    const stack = emptyStack();
    leasesIn(stack).grantAdministrator({ principalId: "me" });
    const mayDo = rightsIn(stack);
    expect(mayDo("me", { action: READ })).toBe(true);
    expect(mayDo("me", { action: WRITE, path: "billing" })).toBe(true);
    expect(mayDo("me", { action: WRITE, path: "billing.note" })).toBe(true);
  });
});

describe("no grantee", () => {
  const stack = emptyStack();
  const leases = leasesIn(stack);
  leases.grantCandidate({ principalId: "candidate" }, "billing");
  leases.grantObserver({ principalId: "observer" }, "billing");
  leases.grantAdministrator({ principalId: "administrator" });
  const mayDo = rightsIn(stack);

  test.each(OTHERS)("may do %s", (action) => {
    for (const who of ["candidate", "observer", "administrator", "stranger"]) {
      expect([who, mayDo(who, { action, path: "billing" })]).toEqual([who, false]);
    }
  });

  test("has a role of Azure's own, a wildcard, a right to delete, or a right to manage", () => {
    const { of } = synthesized(stack);
    for (const role of of("azurerm_role_definition")) {
      expect(role["permissions"]).toEqual([{ actions: [], data_actions: expect.any(Array) }]);
      expect(JSON.stringify(role["permissions"])).not.toMatch(/\*|delete/i);
    }
    for (const assignment of of("azurerm_role_assignment")) expect(assignment["role_definition_name"]).toBeUndefined();
  });
});
