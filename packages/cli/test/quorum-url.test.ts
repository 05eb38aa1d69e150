import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { openStoreUrl } from "../src/store-url/store-from-url.ts";

const PLACE = { env: {}, workingDirectory: "/" };

async function folder(): Promise<string> {
  const path = await mkdtemp(join(tmpdir(), "leasehold-cli-quorum-"));
  onTestFinished(() => rm(path, { recursive: true }));
  return path;
}

/** Writes a file of members, and returns its URL. */
async function listed(content: unknown, path?: string): Promise<string> {
  const file = join(path ?? (await folder()), "members.json");
  await writeFile(file, typeof content === "string" ? content : JSON.stringify(content));
  return `quorum://${file}`;
}

test("a file lists the members by their names, and all processes that open it have the same quorum", async () => {
  const path = await folder();
  const members = Object.fromEntries(["a", "b", "c"].map((name) => [name, `sqlite://${join(path, `${name}.db`)}`]));
  const url = await listed(members, path);
  await using store = await openStoreUrl(url, PLACE);
  const won = await store.acquire({
    election: "e",
    candidateId: "me",
    leaseDurationMs: 60_000,
    renewIntervalMs: 20_000,
    timeoutMs: 20_000,
  });
  expect(won).toMatchObject({ acquired: true });

  await using other = await openStoreUrl(url, PLACE);
  expect(await other.read("e", { timeoutMs: 20_000 })).toMatchObject({ term: 1, holder: "me" });
});

test.for<readonly [string, unknown, RegExp]>([
  [
    "that is no JSON",
    "a: sqlite:///a.db",
    /^the quorum's file \S+ does not list stores' URLs by the members' names; it is an object/,
  ],
  ["with something else than URLs", { a: 1 }, /does not list stores' URLs by the members' names/],
  ["with two members", { a: "sqlite:///a.db", b: "sqlite:///b.db" }, /^A quorum has three or five members, not 2/],
  [
    "with one store twice",
    { a: "sqlite:///a.db", b: "sqlite:///b.db", c: "sqlite:///a.db" },
    /members\.json, a and c are the same store, which would fail together\.$/,
  ],
  [
    "with a URL that cannot work",
    { a: "sqlite:///a.db", b: "sqlite://b.db" },
    /^member b in the quorum's file \S+: a URL of sqlite: has three/,
  ],
  [
    "with a store that keeps no records",
    { a: "etcd://h", b: "etcd://i", c: "etcd://j" },
    /^Member 'a' is no store that keeps records/,
  ],
  [
    "with a password that is not encoded",
    { a: "mysql://me:pa55/word@host/db" },
    /^member a in .*: the store's URL cannot be read\./,
  ],
])("a file %s is refused", async ([, content, message]) => {
  const refusal = openStoreUrl(await listed(content), PLACE);
  await expect(refusal).rejects.toThrow(message);
  await expect(refusal).rejects.not.toThrow("pa55");
});

test("a missing file is an error that shows the format", async () => {
  await expect(openStoreUrl("quorum:///nowhere/members.json", PLACE)).rejects.toThrow(
    /^the quorum's file \/nowhere\/members\.json cannot be read \(ENOENT\); it is an object of JSON, \{"aws":/,
  );
});
