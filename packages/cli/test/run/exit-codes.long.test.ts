/** The exit codes of `leasehold run` as a process. */
import { readFileSync } from "node:fs";
import { afterAll, describe, expect, test } from "vitest";
import { Stage, type Wrapper } from "./wrapper.ts";

const stage = new Stage();
afterAll(async () => stage[Symbol.asyncDispose]());

const LEASE = ["--lease", "15s"];
let elections = 0;
const election = (): string => `e${(elections += 1)}`;

const run = async (command: readonly string[], args: readonly string[] = LEASE): Promise<Wrapper & { code: number | string }> =>
  await stage.run({ election: election(), command, args });

/** A shell's script that prints a line, and then waits for a signal. */
const waiting = (script: string): readonly string[] => ["sh", "-c", `${script}; echo up; while :; do sleep 0.05; done`];

async function up(wrapper: Wrapper): Promise<Wrapper> {
  await wrapper.wrote(/up\n/);
  return wrapper;
}

describe.concurrent("the exit code of run", { timeout: 300_000 }, () => {
  test("is 127 for a missing command", async () => {
    const missing = await run(["no-such-command"]);
    expect([missing.code, missing.stderr]).toEqual([127, "leasehold: no-such-command was not found.\n"]);
  });

  test("is 75, or the chosen one, for a wrapper that is not elected in time", async () => {
    const name = election();
    const leader = await up(stage.start({ election: name, command: waiting(":"), args: LEASE }));
    const late = (...args: readonly string[]): Promise<Wrapper & { code: number | string }> =>
      stage.run({ election: name, command: ["true"], args: [...LEASE, ...args] });
    const [once, waited, other] = await Promise.all([
      late("--wait", "0s"),
      late("--wait", "6s"),
      late("--wait", "0s", "--conflict-exit-code", "0"),
    ]);
    expect([once.code, waited.code, other.code]).toEqual([75, 75, 0]);
    expect(once.stderr).toMatch(/^leasehold: not elected in '\w+'; '.+' leads it in term 1\.$/m);
    leader.signal("SIGTERM");
    await leader.exited;
  });

  test("is 70, or the chosen one, after the command resigned, whatever the command's own code is", async () => {
    const resign = 'trap "exit 0" TERM; curl -sf -X POST -H "Authorization: Bearer $LEASEHOLD_TOKEN" $LEASEHOLD_URL/resign';
    expect((await run(waiting(resign), [...LEASE, "--lost-exit-code", "3"])).code).toBe(3);
    const stalled = await run(waiting(":"), [...LEASE, "--stall", "300ms"]);
    expect(stalled.code).toBe(70);
    expect(stalled.stderr).toContain("silent");
  });

  test("is 69 for a store that cannot be reached, and 78 for one that cannot work", async () => {
    const unreachable = "postgres://postgres@127.0.0.1:1/postgres";
    const at = async (store: string, ...args: readonly string[]): Promise<number | string> =>
      (await stage.run({ store, command: ["true"], args })).code;
    expect(await Promise.all([at(unreachable, "--wait", "0s"), at(unreachable, "--wait", "1s")])).toEqual([69, 69]);
    expect(await at("sqlite:///no/such/folder/leases.db", "--wait", "0s")).toBe(69);
    expect(await at(stage.store, "--lease", "1s")).toBe(78);
  });
});

describe.concurrent("the command of run", { timeout: 300_000 }, () => {
  test("reads its standard input to the end", async () => {
    const input = Buffer.alloc(3_000_000, "0123456789");
    const { stdout } = await stage.run({ election: election(), command: ["cksum"], args: LEASE, input });
    const expected = await stage.shell("cksum", { election: "", command: [], input });
    expect(stdout).toBe(expected.stdout);
  });

  test("leads a session of its own, and gets its remaining time from a local API", async () => {
    const file = stage.path("leadership");
    const ask = `curl -sf -H "Authorization: Bearer $LEASEHOLD_TOKEN" $LEASEHOLD_URL/leadership > ${file}`;
    const { code } = await run(["sh", "-c", `${ask}; [ "$(ps -o sid= -p $$ | tr -d ' ')" = $$ ]`]);
    expect(code).toBe(0);
    const leadership = JSON.parse(readFileSync(file, "utf8")) as { remainingMs: number };
    expect(leadership).toMatchObject({ term: 1, valid: true, ending: false });
    expect(leadership.remainingMs).toBeGreaterThan(0);
  });
});
