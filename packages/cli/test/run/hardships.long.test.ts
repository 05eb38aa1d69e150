/** Other faults of a wrapper and its command. */
import { readFileSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { setTimeout as delay } from "node:timers/promises";
import { commandLine, runCommand } from "@leasehold/test-kit/processes/leasehold-command";
import { processState } from "@leasehold/test-kit/processes/process-state";
import { afterAll, describe, expect, test } from "vitest";
import { Stage } from "./wrapper.ts";

const stage = new Stage();
afterAll(async () => stage[Symbol.asyncDispose]());

const FOR_EVER = "while :; do sleep 0.05; done";

/** Runs another verb to its end. */
async function leasehold(...args: readonly string[]): Promise<string> {
  const { exitCode, stdout } = await runCommand(args, { LEASEHOLD_STORE: stage.store });
  expect(exitCode).toBe(0);
  return stdout;
}

describe.concurrent("a wrapper", { timeout: 300_000 }, () => {
  test("goes on leading when the reader of its messages has left", async () => {
    const file = stage.path("unread");
    const script = `{ "$@" 2>&1 >&3; echo "code $?" > ${file}; } 3>/dev/null | head -n 1`;
    const command = ["sh", "-c", `echo >> ${file}.runs; [ $LEASEHOLD_TERM -lt 2 ] && exit 1; kill -TERM $PPID; sleep 1000`];
    await stage.run({ election: "unread", command, args: ["--restart", "always"], script });
    while (stage.read("unread") === "") await delay(20);
    expect([stage.read("unread"), stage.read("unread.runs")]).toEqual(["code 143\n", "\n\n"]);
  });

  test("ends when its term is broken, even if nobody reads its messages or the command's output", async () => {
    const pipe = stage.path("pipe");
    const script = `mkfifo ${pipe}; sleep 1000 <${pipe} & reader=$!; "$@" 2>${pipe}; code=$?; kill $reader; exit $code`;
    // The pipe is full by then.
    const command = ["sh", "-c", "yes >&2 & sleep 2; echo up; exec sleep 1000"];
    const wrapper = stage.start({ election: "full pipe", command, script });
    await wrapper.wrote(/up/);
    await leasehold("break", "full pipe", "--reason", "a test", "--yes");
    expect(await wrapper.exited).toBe(70);
  });

  test("keeps the lease while its command ends, for longer than a lease", async () => {
    const log = stage.path("slow");
    const slow = `trap 'until [ -e ${log}.go ]; do sleep 0.05; done; echo ended >> ${log}; exit 0' TERM; echo up; ${FOR_EVER}`;
    const common = { election: "slow", args: ["--lease", "12s", "--grace", "300s"] };
    const env = { VALIDITY: stage.path("validity") };
    const first = stage.start({ ...common, command: ["sh", "-c", slow], env, watched: true });
    await first.wrote(/up/);
    const second = stage.start({ ...common, command: ["sh", "-c", `echo next >> ${log}`] });
    await second.said(/waiting/);
    first.signal("SIGTERM");
    const renewals = (): number => stage.read("validity").split("\n").length;
    // Each renewal comes a third of a lease after the one before.
    for (const enough = renewals() + 4; renewals() < enough && stage.read("slow") === "";) await delay(50);
    stage.write("slow.go", "");
    expect([await first.exited, await second.exited]).toEqual([0, 0]);
    expect(stage.read("slow")).toBe("ended\nnext\n");
  });

  test("asks its command only once to end when its store stops answering", async () => {
    await using store = new Stage();
    // A request of the guard would also arrive before the command ends.
    const heard = 'console.log("asked"); setTimeout(() => process.exit(), 3_000);';
    const program = `setInterval(() => {}, 1_000); process.on("SIGTERM", () => { ${heard} }); console.log("up")`;
    // After the renew deadline, both have longer than a stall to ask.
    const wrapper = store.start({ command: [process.execPath, "-e", program], args: ["--lease", "27s"] });
    await wrapper.wrote(/up/);
    using locked = new DatabaseSync(store.path("leases.db-leasehold"), { timeout: 60_000 });
    locked.exec("BEGIN EXCLUSIVE");
    expect(await wrapper.exited).toBe(70);
    expect(wrapper.stdout).toBe("up\nasked\n");
  });

  test("in the command of another wrapper is ended with all its processes", async () => {
    const pid = stage.path("innermost.pid");
    const deaf = `trap "" TERM; echo $$ > ${pid}; echo up; while :; do sleep 0.05; done`;
    const inner = commandLine(["run", "--election", "inner", "--", "sh", "-c", deaf]);
    const outer = stage.start({ election: "outer", command: inner, args: ["--grace", "1s", "--inherit-secrets"] });
    await outer.wrote(/up/);
    outer.signal("SIGTERM");
    expect(await outer.exited).toBe(137);
    expect(await processState(Number(readFileSync(pid, "utf8")))).toBe("gone");
  });
});

describe.concurrent("the command of run", { timeout: 300_000 }, () => {
  test("reads its standard input to the end", async () => {
    const input = Buffer.alloc(3_000_000, "0123456789");
    const { stdout } = await stage.run({ election: "input", command: ["cksum"], input });
    const expected = await stage.shell("cksum", { election: "", command: [], input });
    expect(stdout).toBe(expected.stdout);
  });

  test("leads a session of its own, and gets its remaining time from a local API", async () => {
    const file = stage.path("leadership");
    const ask = `curl -sf -H "Authorization: Bearer $LEASEHOLD_TOKEN" $LEASEHOLD_URL/leadership > ${file}`;
    const command = ["sh", "-c", `${ask}; [ "$(ps -o sid= -p $$ | tr -d ' ')" = $$ ]`];
    const { code } = await stage.run({ election: "session", command });
    expect(code).toBe(0);
    const leadership = JSON.parse(readFileSync(file, "utf8")) as { remainingMs: number };
    expect(leadership).toMatchObject({ term: 1, valid: true, ending: false });
    expect(leadership.remainingMs).toBeGreaterThan(0);
  });
});

test("--http answers who leads beside the command", async () => {
  const socket = stage.path("http.sock");
  const script = `curl -sf --unix-socket ${socket} http://localhost/leader && exit 8`;
  expect((await stage.run({ election: "http", command: ["sh", "-c", script], args: ["--http", `unix:${socket}`] })).code).toBe(8);
});
