import type { StatsFs } from "node:fs";
import fs from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { syncBuiltinESMExports } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ConfigurationError, StoreError, timing, UnsupportedError } from "@leasehold/core";
import { QuorumLeaseStore } from "@leasehold/quorum";
import { SqlLeaseStore } from "@leasehold/sql";
import { expect, onTestFinished, test, vi } from "vitest";
import { formatDuration } from "../src/duration.ts";
import { creationOf, openStoreUrl } from "../src/store-url/store-from-url.ts";
import { CapturedCommand } from "./captured-command.ts";

const REQUEST = { leaseDurationMs: 15_000, renewIntervalMs: 5_000, timeoutMs: 1_000 };
const DETAILS = { store: "memory", operation: "put", mayHaveBeenApplied: false };

test("doctor reports a good configuration, and changes nothing", async () => {
  const command = new CapturedCommand();
  const ran = await command.run("doctor", "--election", "billing");
  expect(ran).toEqual({
    exitCode: 0,
    stderr: "",
    stdout: [
      "ok       store     sqlite:///never/opened.db: the package of memory is installed.",
      "ok       lease     A lease of 15 s fits: after a crash another leads within 25 s, and an outage of 2.5 s deposes nobody.",
      "ok       access    It answers, and lets this process write: a read took 0 ms, a write 0 ms.",
      "ok       election  Nobody has ever led 'billing'.",
      "",
    ].join("\n"),
  });
  expect(await command.store.read("billing")).toBeUndefined();
});

test("the checks that need no request come first", async () => {
  const command = new CapturedCommand();
  const check = vi.spyOn(command.store, "check");
  expect(await command.run("doctor", "--lease", "30ms")).toMatchObject({ exitCode: 78 });
  expect(command.stdout).toContain("failed   lease     --lease is 30, in milliseconds; the shortest lease is 100.");
  command.refusal = new ConfigurationError("the package @leasehold/sql is not installed.");
  expect(await command.run("doctor")).toEqual({
    exitCode: 78,
    stderr: "",
    stdout: "failed   store     the package @leasehold/sql is not installed.\n",
  });
  expect(check).not.toHaveBeenCalled();
});

test("a store that refuses is a failure with the store's own advice, and ends the checks", async () => {
  const command = new CapturedCommand();
  vi.spyOn(command.store, "check").mockRejectedValue(new StoreError("STORE_DENIED", "No right to write. Ask for it.", DETAILS));
  const { exitCode, stdout } = await command.run("doctor", "--json");
  expect(exitCode).toBe(69);
  expect((JSON.parse(stdout) as object[]).at(-1)).toEqual({
    check: "access",
    outcome: "failed",
    message: "No right to write. Ask for it.",
    code: "STORE_DENIED",
  });
});

test("a record that is gone is a warning, if a fence still shows its term", async () => {
  const command = new CapturedCommand();
  const lost = { election: "billing", state: "vacant", term: 7, ageUnknown: true } as const;
  vi.spyOn(command.store, "read").mockResolvedValue(lost);
  expect(await command.run("doctor", "--election", "billing")).toMatchObject({ exitCode: 0 });
  expect(command.stdout).toContain("warning  election  The record of 'billing' is gone; its fence shows term 7.");
});

test("an age that the store's clock cannot tell is no record that is gone", async () => {
  const command = new CapturedCommand();
  const paused = { election: "billing", state: "vacant", term: 7, bar: { kind: "pause", reason: "restore" } } as const;
  vi.spyOn(command.store, "read").mockImplementation(async (_, options) => {
    return await Promise.resolve(options?.expiry === "observed" ? paused : { ...paused, ageUnknown: true });
  });
  await command.run("doctor", "--election", "billing");
  expect(command.stdout).toContain("It is kept from others (paused: restore); resume lifts that.");
});

test("settings by which the service may lose acknowledged writes are warnings", async () => {
  const command = new CapturedCommand();
  vi.spyOn(command.store, "check").mockResolvedValue({ readMs: 1, writeMs: 1, warnings: ["fsync is off: set it to on."] });
  expect(await command.run("doctor")).toMatchObject({ exitCode: 0 });
  expect(command.stdout).toContain("warning  settings  fsync is off: set it to on.\n");
});

test.each([
  ["postgres://db/app", "Check the host, its port, and the way there: DNS, firewall, proxy."],
  ["sqlite:///full/disk.db", "Check the disk: its free space, its quota, and whether it is mounted read-only."],
])("a store that does not answer is a failure with advice: %s", async (url, advice) => {
  const command = new CapturedCommand();
  command.env["LEASEHOLD_STORE"] = url;
  vi.spyOn(command.store, "check").mockRejectedValue(new StoreError("STORE_UNAVAILABLE", "connect ECONNREFUSED", DETAILS));
  expect(await command.run("doctor")).toMatchObject({ exitCode: 69 });
  expect(command.stdout).toContain(`connect ECONNREFUSED. ${advice}\n`);
});

test("failing members beside a working majority are warnings with their names", async () => {
  const folder = await mkdtemp(join(tmpdir(), "leasehold-doctor-"));
  onTestFinished(() => rm(folder, { recursive: true }));
  const command = new CapturedCommand();
  const at = (name: string): SqlLeaseStore => {
    const store = new SqlLeaseStore({ sqlite: join(folder, name) });
    onTestFinished(() => store.close());
    return store;
  };
  const members = { a: at("a.db"), b: at("b.db"), c: at("nowhere/c.db") };
  command.store = new QuorumLeaseStore({ members, logger: false });
  expect(await command.run("doctor")).toMatchObject({ exitCode: 0 });
  expect(command.stdout).toMatch(
    /\n(?:ok|warning) +access .*\nwarning  member    2 of 3 members of the store count\. c has not counted for \d+ s: .*unable to open database file.*\nok       election/,
  );
});

test("voting servers that do not answer are warnings, even if this process is none of them", async () => {
  const command = new CapturedCommand();
  const member = { name: "worker-1", store: "voting", counts: true, forMs: 60_000, waitsFor: undefined };
  const absent = { ...member, name: "worker-3", counts: false, forMs: 12_345, waitsFor: "it takes no part." };
  const check = (): Promise<never> => Promise.reject(new UnsupportedError("This process is no server."));
  Object.assign(command.store, { members: () => [member, member, absent], check });
  expect(await command.run("doctor")).toMatchObject({ exitCode: 0 });
  expect(command.stdout).toMatch(
    /\nok       access    This process is no server\.\nwarning  member    2 of 3 .* worker-3 has not counted for 12 s: it takes no part\.\n/,
  );
});

test("a store that is slow against the lease is a warning, and no failure", async () => {
  const command = new CapturedCommand();
  vi.spyOn(command.store, "check").mockResolvedValue({ readMs: 20, writeMs: 900 });
  expect(await command.run("doctor")).toMatchObject({ exitCode: 0 });
  expect(command.stdout).toContain(
    "warning  access    It answers, and lets this process write: a read took 20 ms, a write 900 ms",
  );
  await command.run("doctor", "--lease", "30s");
  expect(command.stdout).toContain("ok       access");
});

test("a store is fast enough if its slower answer takes half of an attempt", async () => {
  const command = new CapturedCommand();
  const mostMs = timing({}, command.store.capabilities).attemptTimeoutMs / 2;
  for (const [readMs, writeMs, outcome] of [
    [mostMs, 1, "ok "],
    [1, mostMs, "ok "],
    [mostMs + 1, 1, "warning"],
    [1, mostMs + 1, "warning"],
  ] as const) {
    vi.spyOn(command.store, "check").mockResolvedValue({ readMs, writeMs });
    await command.run("doctor");
    expect(command.stdout).toMatch(new RegExp(`^${outcome} +access`, "m"));
    if (outcome === "warning") expect(command.stdout).toContain(`where it answers within ${formatDuration(mostMs)}. Ask again`);
  }
});

test.for([
  ["held", "one leads 'billing' in term 3."],
  ["ending", "one is about to end term 3 of 'billing'."],
  ["unknown", "one led 'billing' last, in term 3; whether it still does, one look cannot tell."],
  ["expired", "Nobody leads 'billing': one has not renewed term 3."],
  ["vacant", "Nobody leads 'billing'; its last term was 3."],
] as const)("describes an election that is %s: %s", async ([state, words]) => {
  const command = new CapturedCommand();
  vi.spyOn(command.store, "read").mockResolvedValue({ election: "billing", state, term: 3, holder: "one" });
  await command.run("doctor", "--election", "billing");
  expect(command.stdout).toContain(`ok       election  ${words}\n`);
});

test("a broken term that is over blocks no candidate", async () => {
  const command = new CapturedCommand();
  const over = { election: "billing", state: "vacant", term: 3, endingReason: "it hangs" } as const;
  vi.spyOn(command.store, "read").mockResolvedValue(over);
  await command.run("doctor", "--election", "billing");
  expect(command.stdout).toContain("ok       election  Nobody leads 'billing'; its last term was 3.\n");
});

test("a failed read of the election is a failure of that check only", async () => {
  const command = new CapturedCommand();
  command.failsWith("STORE_DENIED");
  expect(await command.run("doctor")).toMatchObject({ exitCode: 69 });
  expect(command.stdout).toMatch(/^ok +access/m);
  expect(command.stdout).toMatch(/^failed +election +STORE_DENIED of old\./m);
});

test("shows how to create a missing table", async () => {
  const command = new CapturedCommand();
  command.env["LEASEHOLD_STORE"] = "dynamodb://leases?region=eu-west-1";
  vi.spyOn(command.store, "check").mockRejectedValue(new StoreError("STORE_MISSING", "There is no table.", DETAILS));
  expect(await command.run("doctor")).toMatchObject({ exitCode: 69 });
  expect(command.stdout).toMatch(/^failed +access +There is no table\.\n\s*aws dynamodb create-table --table-name leases /m);
});

test.for(["STORE_TIMEOUT", "STORE_UNAVAILABLE", "STORE_THROTTLED"] as const)(
  "after %s it advises to check the network, if that may be the reason",
  async (code) => {
    const command = new CapturedCommand();
    command.env["LEASEHOLD_STORE"] = "postgres://db/app";
    vi.spyOn(command.store, "check").mockRejectedValue(new StoreError(code, "No answer.", DETAILS));
    await command.run("doctor");
    expect(command.stdout.includes("Check the host")).toBe(code !== "STORE_THROTTLED");
  },
);

test("shows who leads, and what blocks other candidates", async () => {
  const command = new CapturedCommand();
  command.env["LEASEHOLD_ELECTION"] = "billing";
  const { store } = command;
  await store.acquire({ election: "billing", candidateId: "one", ...REQUEST });
  await command.run("doctor");
  expect(command.stdout).toContain("ok       election  one leads 'billing' in term 1.\n");
  await store.break("billing", { reason: "it hangs" });
  await command.run("doctor");
  expect(command.stdout).toContain(
    "warning  election  one is about to end term 1 of 'billing'. It is kept from others (broken: it hangs)",
  );
  await store.pause("billing", { reason: "restore" });
  await command.run("doctor");
  expect(command.stdout).toMatch(/kept from others \(broken: it hangs, paused: restore, since \S+Z\); resume lifts that\./);
});

test("finds a record that was restored and is behind its fence", async () => {
  const command = new CapturedCommand();
  command.env["LEASEHOLD_ELECTION"] = "billing";
  const outcome = await command.store.acquire({ election: "billing", candidateId: "one", ...REQUEST });
  if (outcome.acquired) await command.store.release(outcome.lease, { timeoutMs: 1_000 });
  const check = vi.spyOn(command.store, "check").mockResolvedValue({ readMs: 1, writeMs: 1, fenceTerm: 7 });
  expect(await command.run("doctor")).toMatchObject({ exitCode: 0 });
  expect(command.stdout).toContain(
    "warning  election  The record of 'billing' shows term 1, and its fence term 7: the record was",
  );
  check.mockResolvedValue({ readMs: 1, writeMs: 1, fenceTerm: 1 });
  await command.run("doctor");
  expect(command.stdout).toContain("ok       election  Nobody leads 'billing'; its last term was 1.");
});

test("warns on Windows about the verb that does not work", async () => {
  const command = new CapturedCommand();
  command.platform = "win32";
  expect(await command.run("doctor")).toMatchObject({ exitCode: 0 });
  expect(command.stdout).toContain("warning  system    `leasehold run` needs process groups");
});

test.each([
  ["postgres://me:pa55@host/db?password=pa66", "pa66", "postgres://…@host/db"],
  ["postgres://me:pa55 wo\trd@host/db", "pa55 wo\trd", "postgres://…@host/db"],
  ["postgres://me:pa55%20word@host/db", "pa55 word", "postgres://…@host/db"],
  ["etcd://me:pa55  word@a:2379,b:2379", "pa55  word", "etcd://…@a:2379,b:2379"],
])("a password in the URL is not shown: %j", async (url, password, shown) => {
  for (const options of [[], ["--json"]]) {
    const command = new CapturedCommand();
    command.env["LEASEHOLD_STORE"] = url;
    // A driver may print the password as it was given, or decoded.
    const said = `no server at ${url}, nor for '${password}'`;
    vi.spyOn(command.store, "check").mockRejectedValue(new StoreError("STORE_UNAVAILABLE", said, DETAILS));
    await command.run("doctor", ...options);
    expect(command.stdout).toContain(`${shown}: the package of memory is installed.`);
    expect(command.stdout + command.stderr).not.toMatch(/pa55|pa66|wo.{1,2}rd/);
  }
});

test.for([
  ["postgres://me@127.0.0.1:1/db", /^CREATE TABLE IF NOT EXISTS leasehold_leases .*;$/],
  ["mysql://me@127.0.0.1:1/db?ssl={}&table=ops.leases", /^CREATE TABLE IF NOT EXISTS `ops`\.`leases` .*;$/],
  ["dynamodb://leases?region=eu-west-1", /^aws dynamodb create-table --table-name leases .* --region eu-west-1 /],
  ["azure-blob://acc/leases", /^az storage container create --account-name acc --name leases /],
] as const)("the printed line creates what is missing at %s", async ([url, line]) => {
  await using store = await openStoreUrl(url, { env: {}, workingDirectory: "/" });
  expect((await creationOf(url, store))[0]).toMatch(line);
});

test.runIf(process.platform === "linux")("a file on another machine's disk is a warning", async () => {
  const statfs = vi.spyOn(fs, "statfsSync").mockReturnValue({ type: 0x6969 } as StatsFs);
  syncBuiltinESMExports();
  onTestFinished(() => {
    statfs.mockRestore();
    syncBuiltinESMExports();
  });
  const command = new CapturedCommand();
  expect(await command.run("doctor")).toMatchObject({ exitCode: 0 });
  expect(command.stdout).toContain("\nwarning  disk      The file is on NFS; leases need a local disk");
  expect(statfs).toHaveBeenCalledWith("/never");
});
