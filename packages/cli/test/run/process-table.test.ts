import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import fs, { mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { livingMembers, parseStat, showsGroup, startTicksOf } from "../../src/run/process-table.ts";

const TERM = "5f0e8c1a";
const LEADER = { pid: 100, startTicks: 5_000 };

let proc = "";
beforeEach(() => {
  proc = mkdtempSync(join(tmpdir(), "leasehold-proc-"));
});
afterEach(() => rmSync(proc, { recursive: true }));

interface Made {
  readonly name?: string;
  readonly state?: string;
  readonly group?: number;
  readonly session?: number;
  readonly started?: number;
  readonly env?: string;
  readonly tasks?: readonly string[];
}

function make(
  pid: number,
  { name = "sh", state = "S", group = pid, session = pid, started = 5_001, env, tasks = [] }: Made,
): void {
  mkdirSync(join(proc, `${pid}/task`), { recursive: true });
  const stat = (letter: string): string =>
    `${pid} (${name}) ${letter} 1 ${group} ${session} 0 -1 4194304 ${"0 ".repeat(12)}${started} 0 0\n`;
  writeFileSync(join(proc, `${pid}/stat`), stat(state));
  if (env !== undefined) writeFileSync(join(proc, `${pid}/environ`), env);
  for (const [index, letter] of [state, ...tasks].entries()) {
    mkdirSync(join(proc, `${pid}/task/${pid + index}`));
    writeFileSync(join(proc, `${pid}/task/${pid + index}/stat`), stat(letter));
  }
}

const members = (mark: { termId: string; leader?: typeof LEADER } = { termId: TERM, leader: LEADER }): readonly number[] =>
  livingMembers(mark, proc)!
    .map(({ pid }) => pid)
    .toSorted((one, other) => one - other);

describe("the processes of a term", () => {
  test("are those of the command's group, of its session, and those that carry the term's id", () => {
    make(100, { started: 5_000 });
    make(101, { group: 100, session: 100 });
    make(102, { group: 102, session: 100 });
    make(103, { env: `PATH=/bin\0LEASEHOLD_TERM_ID=${TERM}\0HOME=/` });
    make(104, { env: `LEASEHOLD_TERM_ID=${TERM}0\0OTHER=LEASEHOLD_TERM_ID=${TERM}` });
    make(105, {});
    expect(members()).toEqual([100, 101, 102, 103]);
    expect(
      livingMembers({ termId: TERM, leader: LEADER }, proc)!
        .filter(({ inGroup }) => inGroup)
        .map(({ pid }) => pid)
        .toSorted((one, other) => one - other),
    ).toEqual([100, 101]);
  });

  test("include those of a wrapper inside the command", () => {
    make(100, { started: 5_000, env: `LEASEHOLD_TERM_ID=inner\0LEASEHOLD_OUTER_TERM_IDS=other,${TERM}` });
    make(101, { env: `LEASEHOLD_TERM_ID=inner\0LEASEHOLD_OUTER_TERM_IDS=other` });
    expect(members({ termId: TERM })).toEqual([100]);
  });

  test("are those that carry the id, before the command is known", () => {
    make(100, { env: `LEASEHOLD_TERM_ID=${TERM}` });
    expect(members({ termId: TERM })).toEqual([100]);
  });

  test("a group is shown by any of its processes, also by a zombie", () => {
    make(101, { group: 100, session: 100, state: "Z" });
    expect([100, 101].map((group) => showsGroup(group, proc))).toEqual([true, false]);
  });

  test("do not include a zombie, unless other threads of it still run", () => {
    make(100, { state: "Z", started: 5_000 });
    make(101, { state: "X", group: 100 });
    make(110, { state: "Z", group: 100, tasks: ["S"] });
    make(120, { state: "Z", group: 100, tasks: ["Z"] });
    expect(members()).toEqual([110]);
  });

  test("do not include those of a later process with the command's number", () => {
    make(100, { started: 9_000 });
    make(101, { group: 100, session: 100, started: 9_001 });
    make(102, { started: 9_000, env: `LEASEHOLD_TERM_ID=${TERM}` });
    expect(members()).toEqual([102]);
  });

  test("do not include a process that is older than the command, even if it carries the id", () => {
    make(90, { started: 4_999, env: `LEASEHOLD_TERM_ID=${TERM}` });
    expect(members()).toEqual([]);
  });

  test("are found even if a name has brackets and blanks", () => {
    make(100, { name: "a) R 7 (b", started: 5_000 });
    expect(members()).toEqual([100]);
    expect(startTicksOf(100, proc)).toBe(5_000);
  });

  test("include a process that starts during the search, even if its parent ends before it is read", async () => {
    const env = `LEASEHOLD_TERM_ID=${TERM}`;
    make(101, { group: 100, session: 100 });
    make(102, { env });
    renameSync(join(proc, "102"), join(proc, "unborn"));
    const stat = join(proc, "101/stat");
    rmSync(stat);
    // A read of 101 waits until that process has forked and ended.
    execFileSync("mkfifo", [stat]);
    const script = "exec 3> 101/stat; mv unborn 102; mv 101 ended; exec 3>&-";
    const forking = spawn("sh", ["-c", script], { cwd: proc, stdio: "ignore" });
    expect(members()).toEqual([102]);
    await once(forking, "exit");
  });

  test("do not include a process that gets the command's number during the search", async () => {
    make(100, { started: 9_000 });
    renameSync(join(proc, "100"), join(proc, "unborn"));
    make(101, {});
    const stat = join(proc, "101/stat");
    rmSync(stat);
    execFileSync("mkfifo", [stat]);
    const script = "exec 3> 101/stat; mv unborn 100; mv 101 ended; exec 3>&-";
    const forking = spawn("sh", ["-c", script], { cwd: proc, stdio: "ignore" });
    expect(members()).toEqual([]);
    await once(forking, "exit");
  });

  test("include a command that started at the same tick, and need only the number if the start is unknown", () => {
    make(100, { started: 5_000 });
    make(101, { started: 5_000, env: `LEASEHOLD_TERM_ID=${TERM}` });
    make(102, { group: 100, started: 1 });
    expect(members()).toEqual([100, 101, 102]);
    expect(members({ termId: TERM, leader: { pid: 100 } as typeof LEADER })).toEqual([100, 101, 102]);
  });

  test("are all of one table, which is enough once it has one of them", () => {
    make(100, { started: 5_000 });
    make(101, { group: 7, session: 100 });
    make(102, { group: 100, session: 7 });
    expect(livingMembers({ termId: TERM, leader: LEADER }, proc)!.toSorted((one, other) => one.pid - other.pid)).toEqual([
      { pid: 100, inGroup: true },
      { pid: 101, inGroup: false },
      { pid: 102, inGroup: true },
    ]);
  });

  test("do not include a zombie whose other threads have ended or are gone, nor a dead process", () => {
    make(110, { state: "Z", group: 100, tasks: ["X"] });
    make(120, { state: "X", group: 100, tasks: ["Z"] });
    make(130, { state: "X", group: 100, tasks: ["R"] });
    make(140, { state: "Z", group: 100 });
    rmSync(join(proc, "140/task"), { recursive: true });
    make(150, { state: "Z", group: 100 });
    mkdirSync(join(proc, "150/task/151"));
    expect(members()).toEqual([130]);
  });

  test.each<readonly [what: string, times: number, tableOf: (time: number) => readonly number[]]>([
    ["once if a process is found", 1, () => [100, 105]],
    ["once more if none is found", 2, () => [105]],
    ["not for ever if processes start all the time", 20, (time) => [1_000 + time]],
  ])("are searched in the table %s", (_what, times, tableOf) => {
    make(100, { started: 5_000 });
    make(105, {});
    let read = 0;
    vi.spyOn(fs, "readdirSync").mockImplementation((() => {
      read += 1;
      if (read > times) throw Object.assign(new Error("read too often"), { code: "EMFILE" });
      return tableOf(read).map(String);
    }) as unknown as typeof fs.readdirSync);
    syncBuiltinESMExports();
    onTestFinished(() => {
      vi.restoreAllMocks();
      syncBuiltinESMExports();
    });
    expect(members()).toEqual(times === 1 ? [100] : []);
    expect(read).toBe(times);
  });

  test.each(["EMFILE", "ENFILE", "ENOMEM"])("are unknown after %s, which is no sign that they are gone", (code) => {
    vi.spyOn(fs, "readdirSync").mockImplementation(() => {
      throw Object.assign(new Error(code), { code });
    });
    syncBuiltinESMExports();
    onTestFinished(() => {
      vi.restoreAllMocks();
      syncBuiltinESMExports();
    });
    expect(() => livingMembers({ termId: TERM }, proc)).toThrow(code);
    expect(startTicksOf(1, proc)).toBeUndefined();
  });

  test("are undefined on a system without such a table", () => {
    expect(livingMembers({ termId: TERM }, join(proc, "missing"))).toBeUndefined();
    expect(livingMembers({ termId: TERM }, proc)).toBeUndefined();
    expect(startTicksOf(1, proc)).toBeUndefined();
    expect(() => parseStat("")).toThrow("cannot be read");
  });

  test.runIf(process.platform === "linux")("this process is read correctly", () => {
    const started = startTicksOf(process.pid);
    expect(started).toBeGreaterThan(0);
    const mark = { termId: TERM, leader: { pid: process.pid, startTicks: started! + 1 } };
    expect(livingMembers(mark)!.map(({ pid }) => pid)).not.toContain(process.pid);
  });
});
