/** `leasehold run` as a process, by its exit codes. */
import { readFileSync } from "node:fs";
import { constants } from "node:os";
import { processState } from "@leasehold/test-kit/processes/process-state";
import { afterAll, describe, expect, test } from "vitest";
import { Stage, type Wrapper } from "./wrapper.ts";

const stage = new Stage();
afterAll(async () => stage[Symbol.asyncDispose]());

const LEASE = ["--lease", "15s"];
let elections = 0;
const election = (): string => `e${(elections += 1)}`;

const run = async (command: readonly string[], args: readonly string[] = LEASE): Promise<Wrapper & { code: number | string }> =>
  await stage.run({ election: election(), command, args });

/** A shell that says so, and then waits until it is signalled. */
const waiting = (script: string): readonly string[] => ["sh", "-c", `${script}; echo up; while :; do sleep 0.05; done`];

async function up(wrapper: Wrapper): Promise<Wrapper> {
  await wrapper.wrote(/up\n/);
  return wrapper;
}

describe.concurrent("the exit code of run", () => {
  test("is the command's own", async () => {
    expect((await run(["sh", "-c", "exit 0"])).code).toBe(0);
    expect((await run(["sh", "-c", "exit 42"])).code).toBe(42);
  });

  test("is 128 and the signal that ended the command", async () => {
    expect((await run(["sh", "-c", "kill -KILL $$"])).code).toBe(128 + constants.signals.SIGKILL);
  });

  test("is 127 for a command that is not there, 126 for one that cannot be executed, and nothing is sent", async () => {
    const missing = await run(["no-such-command"]);
    expect([missing.code, missing.stderr]).toEqual([127, "leasehold: no-such-command was not found.\n"]);
    const plain = stage.write("plain", "");
    expect((await run([plain])).code).toBe(126);
    expect((await run([stage.write("no-interpreter", "#!/no/such/interpreter\n")])).code).toBe(126);
  });

  test("is the command's after a stop, which it hears as the signal that came", async () => {
    const name = election();
    const command = waiting('trap "exit 7" TERM; trap "exit 8" INT; trap "exit 9" QUIT');
    for (const [signal, code] of [
      ["SIGTERM", 7],
      ["SIGINT", 8],
      ["SIGQUIT", 9],
    ] as const) {
      const wrapper = await up(stage.start({ election: name, command, args: LEASE }));
      wrapper.signal(signal);
      expect(await wrapper.exited).toBe(code);
    }
  });

  test("is 143 for a wrapper that TERM stops while it waits, and no command is started", async () => {
    const name = election();
    const leader = await up(stage.start({ election: name, command: waiting(":"), args: LEASE }));
    const standby = stage.start({
      election: name,
      command: ["sh", "-c", `echo started > ${stage.path("started")}`],
      args: LEASE,
    });
    await standby.said(/waiting/);
    standby.signal("SIGTERM");
    leader.signal("SIGTERM");
    expect([await standby.exited, await leader.exited]).toEqual([143, 143]);
    expect(stage.read("started")).toBe("");
  });

  test("is 75, or another, for a wrapper that is not elected in time", async () => {
    const name = election();
    const leader = await up(stage.start({ election: name, command: waiting(":"), args: LEASE }));
    const late = (...args: readonly string[]): Promise<Wrapper & { code: number | string }> =>
      stage.run({ election: name, command: ["true"], args: [...LEASE, ...args] });
    const [once, waited, other] = await Promise.all([
      late("--once"),
      late("--wait", "3s"),
      late("--once", "--conflict-exit-code", "0"),
    ]);
    expect([once.code, waited.code, other.code]).toEqual([75, 75, 0]);
    expect(once.stderr).toMatch(/^leasehold: not elected in '\w+'; '.+' leads it in term 1\.$/m);
    leader.signal("SIGTERM");
    await leader.exited;
  });

  test("is 70, or another, once leadership was given up for the command, whatever that ends with", async () => {
    const resign = 'trap "exit 0" TERM; curl -sf -X POST -H "Authorization: Bearer $LEASEHOLD_TOKEN" $LEASEHOLD_URL/resign';
    expect((await run(waiting(resign))).code).toBe(70);
    expect((await run(waiting(resign), [...LEASE, "--lost-exit-code", "3"])).code).toBe(3);
    const stalled = await run(waiting(":"), [...LEASE, "--stall", "300ms"]);
    expect(stalled.code).toBe(70);
    expect(stalled.stderr).toContain("silent");
  });

  test("is 69 for a store that cannot be reached, and 78 for one that cannot work", async () => {
    const unreachable = "postgres://postgres@127.0.0.1:1/postgres";
    const at = async (store: string, ...args: readonly string[]): Promise<number | string> =>
      (await stage.run({ store, command: ["true"], args })).code;
    expect(await Promise.all([at(unreachable, "--once"), at(unreachable, "--wait", "1s")])).toEqual([69, 69]);
    expect(await at("sqlite:///no/such/folder/leases.db", "--once")).toBe(69);
    expect(await at(stage.store, "--lease", "1s")).toBe(78);
  });

  test("is 64 for what cannot be understood", async () => {
    const code = async (args: readonly string[], command = ["true"]): Promise<number | string> => (await run(command, args)).code;
    expect(
      await Promise.all([code(["--grace", "5"]), code(["--signal", "NO"]), code(["--once", "--wait", "1s"]), code([], [])]),
    ).toEqual([64, 64, 64, 64]);
  });

  test("ends a shell under set -e", async () => {
    const script = `set -e; "$@"; echo unreachable`;
    const wrapper = await stage.shell(script, { election: election(), command: ["sh", "-c", "exit 5"], args: LEASE });
    expect([wrapper.code, wrapper.stdout]).toEqual([5, ""]);
  });
});

describe.concurrent("the command of run", () => {
  test("has the words of its term in its environment, and arguments as they were given", async () => {
    const { stdout } = await run(
      ["sh", "-c", 'echo "$LEASEHOLD_TERM:$LEASEHOLD_CANDIDATE_ID:$1:$2"', "sh", "a  b", "--wait"],
      [...LEASE, "--id", "one"],
    );
    expect(stdout).toBe("1:one:a  b:--wait\n");
  });

  test("reads its standard input to the end", async () => {
    const input = Buffer.alloc(3_000_000, "0123456789");
    const { stdout } = await stage.run({ election: election(), command: ["cksum"], args: LEASE, input });
    const expected = await stage.shell("cksum", { election: "", command: [], input });
    expect(stdout).toBe(expected.stdout);
  });

  test("leads a session of its own, and is told with a local API how long its leadership lasts", async () => {
    const file = stage.path("leadership");
    const ask = `curl -sf -H "Authorization: Bearer $LEASEHOLD_TOKEN" $LEASEHOLD_URL/leadership > ${file}`;
    const { code } = await run(["sh", "-c", `${ask}; [ "$(ps -o sid= -p $$ | tr -d ' ')" = $$ ]`]);
    expect(code).toBe(0);
    const leadership = JSON.parse(readFileSync(file, "utf8")) as { remainingMs: number };
    expect(leadership).toMatchObject({ term: 1, valid: true, ending: false });
    expect(leadership.remainingMs).toBeGreaterThan(0);
  });

  test("what it leaves behind is ended before the lease is released", async () => {
    const pid = stage.path("left.pid");
    const { code } = await run(["sh", "-c", `sleep 1000 & echo $! > ${pid}; exit 4`]);
    expect(code).toBe(4);
    expect(await processState(Number(readFileSync(pid, "utf8")))).toBe("gone");
  });

  test("is run again after it has ended, as long as nobody stops the wrapper", async () => {
    const runs = stage.path("runs");
    const command = [
      "sh",
      "-c",
      `echo $LEASEHOLD_TERM >> ${runs}; [ $LEASEHOLD_TERM -lt 3 ] || { echo up; while :; do sleep 0.05; done; }`,
    ];
    const wrapper = await up(stage.start({ election: election(), command, args: [...LEASE, "--restart", "always"] }));
    wrapper.signal("SIGTERM");
    expect(await wrapper.exited).toBe(143);
    expect(readFileSync(runs, "utf8")).toBe("1\n2\n3\n");
  });

  test("is run again after a loss, and no more once it has ended by itself", async () => {
    const resign = 'curl -sf -X POST -H "Authorization: Bearer $LEASEHOLD_TOKEN" $LEASEHOLD_URL/resign';
    const { code, stdout } = await run(
      ["sh", "-c", `echo $LEASEHOLD_TERM; [ $LEASEHOLD_TERM -gt 1 ] && exit 4; ${resign}; exec sleep 1000`],
      [...LEASE, "--restart", "on-loss"],
    );
    expect([code, stdout]).toEqual([4, "1\n2\n"]);
  });
});
