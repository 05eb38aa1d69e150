/** `leasehold run` and its command, in the process of the test. */
import { chmodSync, writeFileSync } from "node:fs";
import { Server } from "node:net";
import { constants } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { Elector, StoreError, oncePerOccurrence, type HeldLeadership } from "@leasehold/core";
import { systemClock } from "@leasehold/core/provider";
import { processState } from "@leasehold/test-kit/processes/process-state";
import { signalAll } from "@leasehold/test-kit/processes/process-tree";
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { RestartWait } from "../../src/run/restart-wait.ts";
import { serveElector } from "../../src/run/run-http.ts";
import { RunHere } from "./run-here.ts";

/** A script that writes `up`, and then waits for a signal. */
const WAITING = "echo up > $0/up; while :; do sleep 0.05; done";

/** The lease of a command that no signal ends. */
const LEASE_MS = 15_000;
/** The lease of a term that the test loses anyway. A stall that loses it earlier does no harm. */
const SHORT_LEASE_MS = 3_000;

/** The longest wait for a store at a stop. */
const STORE_MS = 4_000;

/** Only Linux finds processes that have left a group. */
const onLinux = process.platform === "linux";

let here: RunHere;
beforeEach(() => {
  here = new RunHere();
});
afterEach(() => here[Symbol.dispose]());

/** Makes another candidate lead, until it is disposed of. */
async function another(election = "e"): Promise<HeldLeadership> {
  return await new Elector({ store: here.store, election, candidateId: "another", logger: false }).campaign();
}

/**
 * Stops a wrapper whose guard is frozen and whose command no signal ends. After each signal, one of the machine's clocks jumps
 * ahead by a lease.
 */
async function stopInVain(ended: Promise<number>, clock: "wall" | "monotonic"): Promise<number> {
  const guards = await here.signalGuard("SIGSTOP");
  onTestFinished(() => signalAll(guards, "SIGKILL"));
  let passedMs = 0;
  const now = Date.now.bind(Date);
  const hrtime = process.hrtime.bigint.bind(process.hrtime);
  using _clock =
    clock === "wall"
      ? vi.spyOn(Date, "now").mockImplementation(() => now() + passedMs)
      : vi.spyOn(process.hrtime, "bigint").mockImplementation(() => hrtime() + BigInt(passedMs) * 1_000_000n);
  using _kill = vi.spyOn(process, "kill").mockImplementation(() => {
    setImmediate(() => (passedMs += LEASE_MS));
    return true;
  });
  here.signal("SIGTERM");
  return await ended;
}

test("a failure of the election is an error, and does not count as a conflict", async () => {
  onTestFinished(() => void vi.restoreAllMocks());
  for (const method of ["campaign", "tryCampaign"] as const)
    vi.spyOn(Elector.prototype, method).mockRejectedValue(new Error("a fault"));
  for (const waitMs of [0, 60_000]) await expect(here.run("exit 0", { waitMs })).rejects.toThrow("a fault");
});

describe("the exit code", () => {
  test("is the command's own, or 128 plus the signal that ended it", async () => {
    expect(await here.run("exit 42")).toBe(42);
    expect(await here.run("kill -KILL $$")).toBe(128 + constants.signals.SIGKILL);
  });

  test("is 127 for a missing command or a missing interpreter, and no other file is tried", async () => {
    const path = join(here.folder, "uninterpreted");
    writeFileSync(path, "#!/no/such/interpreter\n");
    chmodSync(path, 0o755);
    await expect(here.run("", { command: ["no-such-command"] })).rejects.toMatchObject({ exitCode: 127 });
    expect(await here.run("", { command: [path], restart: "always" })).toBe(127);
    expect(here.said.at(-1)).toBe("it cannot be started (ENOENT).");
  });

  test.each([
    ["SIGTERM", 7],
    ["SIGINT", 8],
    ["SIGQUIT", 9],
  ] as const)("is the command's after %s, which it gets even if it is stopped", async (signal, code) => {
    const traps = 'trap "exit 7" TERM; trap "exit 8" INT; trap "exit 9" QUIT';
    const ended = here.run(`${traps}; echo up > $0/up; kill -STOP $$; ${WAITING}`);
    await here.wrote("up");
    here.signal(signal);
    expect(await ended).toBe(code);
  });

  test.each(["SIGTERM", "SIGHUP"] as const)("is 128 plus %s for a waiting wrapper, which starts no command", async (signal) => {
    await using _leader = await another();
    const ended = here.run("echo started > $0/started");
    await here.told(/^waiting to lead 'e' as '\S+-\d+-\w+'; 'another' leads it in term 1\.$/);
    here.signal("SIGUSR1");
    here.signal(signal);
    expect(await ended).toBe(128 + constants.signals[signal]);
    expect(here.read("started")).toBe("");
  });

  test("is that of a conflict if the wrapper is not elected at once, or in time", async () => {
    await using _leader = await another();
    expect(await here.run("exit 1", { waitMs: 0, conflictExitCode: 33 })).toBe(33);
    expect(await here.run("exit 1", { waitMs: 300 })).toBe(75);
    expect(here.said.at(-1)).toBe("not elected in 'e'; 'another' leads it in term 1.");
  });

  test("is that of a loss once an administrator has broken the term, whatever the command's own code is", async () => {
    const ended = here.run(`trap "exit 0" TERM; ${WAITING}`, { lostExitCode: 3, leaseDurationMs: SHORT_LEASE_MS });
    await here.wrote("up");
    await here.store.break("e", { reason: "a test", ifTerm: 1 });
    expect(await ended).toBe(3);
  });

  test("is 137 for a command that ignores signals, once its grace is over", async () => {
    const ended = here.run(`trap "" TERM; ${WAITING}`, { graceMs: 300 });
    await here.wrote("up");
    here.signal("SIGTERM");
    expect(await ended).toBe(137);
    expect(here.said.at(-1)).toMatch(/^SIGKILL was sent: the command was still there 0\.3 s after it was asked to end/);
  });

  test("is 70 if SIGKILL does not end the command, which is not run again; the lease expires", async () => {
    const ended = here.run(WAITING, { restart: "always", leaseDurationMs: LEASE_MS, graceMs: 100 });
    await here.wrote("up");
    expect(await stopInVain(ended, "monotonic")).toBe(70);
    expect(here.said.at(-1)).toBe(
      "something that the command started is still there after SIGKILL; the lease is left to expire.",
    );
    expect(await here.store.read("e")).toMatchObject({ state: "held", term: 1 });
  });

  test("is 143 after SIGTERM in the wait before the next campaign, whatever the command's own code was", async () => {
    const after = vi.spyOn(RestartWait.prototype, "after").mockReturnValue(600_000);
    onTestFinished(() => after.mockRestore());
    const ended = here.run("exit 3", { restart: "always" });
    while (after.mock.calls.length === 0) await delay(10);
    here.signal("SIGTERM");
    expect(await ended).toBe(143);
  });

  test("is 143 for a wrapper that waits for a store without an answer", async () => {
    const read = vi.spyOn(here.store, "read").mockReturnValue(new Promise(() => {}));
    const acquire = vi.spyOn(here.store, "acquire").mockReturnValue(new Promise(() => {}));
    const ended = here.run("exit 1");
    while (read.mock.calls.length + acquire.mock.calls.length === 0) await delay(10);
    here.signal("SIGTERM");
    expect(await ended).toBe(143);
  });

  test("is the command's if the store stops answering before the release", async () => {
    const release = vi.spyOn(here.store, "release").mockReturnValue(new Promise(() => {}));
    const ended = here.run(`trap "exit 7" TERM; ${WAITING}`);
    await here.wrote("up");
    here.signal("SIGTERM");
    expect(await ended).toBe(7);
    expect(release).toHaveBeenCalled();
  });

  test.runIf(onLinux)("is that of a loss without a guard, and a line says so", async () => {
    const ended = here.run(WAITING);
    await here.wrote("up");
    await here.signalGuard("SIGKILL");
    expect(await ended).toBe(70);
    expect(here.said).toContain(
      "the guard has ended (SIGKILL); the command was killed, because nothing may run without a guard.",
    );
  });
});

describe("the command", () => {
  test("is not started if the lease leaves it no time to end", async () => {
    for (const ran of [here.run("exit 1", { leaseDurationMs: 500 }), here.runOnce("k", "exit 1", { leaseDurationMs: 500 })])
      await expect(ran).rejects.toThrow("a lease of 500 ms leaves a command no time to end");
    expect(await here.store.read("e")).toBeUndefined();
  });

  test("is not started if the local API cannot listen, and the lease is given up", async () => {
    const listen = vi.spyOn(Server.prototype, "listen").mockImplementation(function (this: Server) {
      setImmediate(() => this.emit("error", new Error("no more file descriptors")));
      return this;
    });
    onTestFinished(() => listen.mockRestore());
    expect(await here.run("echo started > $0/started", { lostExitCode: 3 })).toBe(3);
    expect(here.read("started")).toBe("");
    expect(here.said.at(-1)).toBe("no more file descriptors");
    expect(await here.store.read("e")).toMatchObject({ state: "vacant", term: 1 });
  });

  test("gets the secrets of the store only with --inherit-secrets", async () => {
    vi.stubEnv("LEASEHOLD_STORE", "postgres://me:pa55@host/db");
    onTestFinished(() => void vi.unstubAllEnvs());
    await here.run("echo store=$LEASEHOLD_STORE > $0/without");
    await here.run("echo store=$LEASEHOLD_STORE > $0/with", { inheritSecrets: true });
    expect([here.read("without"), here.read("with")]).toEqual(["store=\n", "store=postgres://me:pa55@host/db\n"]);
  });

  test("gets signals without a meaning for the wrapper, and each signal after the first", async () => {
    const ended = here.run(`trap "echo usr1 >> $0/heard" USR1; trap "echo hup >> $0/heard" HUP; trap "echo term >> $0/heard" TERM
      trap "exit 5" INT; ${WAITING}`);
    await here.wrote("up");
    for (const [signal, heard] of [
      ["SIGUSR1", "usr1\n"],
      ["SIGHUP", "usr1\nhup\n"],
      ["SIGTERM", "usr1\nhup\nterm\n"],
    ] as const) {
      here.signal(signal);
      while (here.read("heard") !== heard) await delay(10);
    }
    here.signal("SIGINT");
    expect(await ended).toBe(5);
  });

  test("gets a reload alone, and a stop together with all its processes", async () => {
    const worker = 'sh -c "trap \\"echo term > $0/worker\\" TERM; echo up > $0/up; while :; do sleep 0.05; done" &';
    const script = `${worker} worker=$!; trap "echo usr1 > $0/heard" USR1; trap "" INT; trap "exit 6" TERM
      while kill -0 $worker; do sleep 0.05; done; echo died > $0/died`;
    const ended = here.run(script);
    await here.wrote("up");
    here.signal("SIGUSR1");
    expect(await here.wrote("heard")).toBe("usr1\n");
    here.signal("SIGTERM");
    expect(await ended).toBe(6);
    expect([here.read("worker"), here.read("died")]).toEqual(["term\n", ""]);
  });

  test("gets no HUP if it is to ignore HUP", async () => {
    const ended = here.run(`trap "exit 3" HUP; trap "exit 6" USR1; ${WAITING}`, { ignoresHangup: true });
    await here.wrote("up");
    here.signal("SIGHUP");
    here.signal("SIGUSR1");
    expect(await ended).toBe(6);
  });

  test.runIf(onLinux)("the processes that it leaves are ended before the release, even those that left its session", async () => {
    const escape = "setsid sh -c 'echo $$ > $0/escaped; exec sleep 1000' $0 &";
    const script = `sleep 1000 & echo $! > $0/left; ${escape} while [ ! -s $0/escaped ]; do sleep 0.05; done; exit 4`;
    expect(await here.run(script)).toBe(4);
    for (const file of ["left", "escaped"]) expect(await processState(Number(here.read(file)))).toBe("gone");
    expect(await here.store.read("e")).toMatchObject({ state: "vacant", term: 1 });
  });

  test("runs again after a transfer, and not after it has ended by itself", async () => {
    const script = `echo $LEASEHOLD_TERM >> $0/terms; [ -e $0/enough ] && exit 4; ${WAITING}`;
    const ended = here.run(script, { restart: "on-loss", leaseDurationMs: SHORT_LEASE_MS });
    await here.wrote("up");
    const taking = another();
    await here.store.transfer("e", "another");
    const successor = await taking;
    await here.told(/^waiting to lead/);
    writeFileSync(join(here.folder, "enough"), "");
    await successor.release();
    expect(await ended).toBe(4);
    expect(here.read("terms")).toMatch(/^1\n(\d+\n)+$/);
    // The wrapper prints once which leader it waits for.
    expect(here.said.filter((line) => line.startsWith("waiting"))).toEqual([
      expect.stringMatching(new RegExp(`^waiting to lead 'e' as '.+'; 'another' leads it in term ${successor.term}\\.$`)),
    ]);
    // The guard of the first term has ended by now.
    expect(here.said.join("\n")).not.toContain("the guard");
  });

  test("runs again after a loss because no file descriptor was free for a renewal", async () => {
    const script = `echo $LEASEHOLD_TERM >> $0/terms; [ $LEASEHOLD_TERM -gt 1 ] && exit 4; ${WAITING}`;
    const ended = here.run(script, { restart: "on-loss", leaseDurationMs: SHORT_LEASE_MS });
    await here.wrote("up");
    const details = { store: "memory", operation: "renew", mayHaveBeenApplied: false };
    const renew = vi
      .spyOn(here.store, "renew")
      .mockRejectedValue(new StoreError("STORE_UNAVAILABLE", "EMFILE: too many open files.", details));
    onTestFinished(() => renew.mockRestore());
    await here.told(/is lost|ended/);
    renew.mockRestore();
    expect(await ended).toBe(4);
    expect(here.read("terms")).toMatch(/^1\n\d+\n$/);
  });

  test("is run again after its end, until a stop", async () => {
    const script = `echo $LEASEHOLD_TERM >> $0/terms; [ $LEASEHOLD_TERM -gt 1 ] && { ${WAITING}; }; echo first > $0/first
      until [ -e $0/go ]; do sleep 0.05; done`;
    const ended = here.run(script, { restart: "always" });
    await here.wrote("first");
    // After a term of another candidate, the wrapper can compete again without a wait.
    const taking = another();
    writeFileSync(join(here.folder, "go"), "");
    await (await taking).release();
    await here.wrote("up");
    here.signal("SIGTERM");
    expect(await ended).toBe(143);
    expect(here.read("terms")).toBe("1\n3\n");
  });
});

test("a command can give its leadership up by its local API", async () => {
  const resign = 'curl -sf -X POST -H "Authorization: Bearer $LEASEHOLD_TOKEN" $LEASEHOLD_URL/resign';
  expect(await here.run(`${resign}; ${WAITING}`)).toBe(70);
});

test("a command without checkpoints loses its leadership", async () => {
  expect(await here.run(WAITING, { stallTimeoutMs: 300 })).toBe(70);
});

test("--http answers who leads for as long as it runs, and no longer", async () => {
  let url = "";
  const ended = here.run(WAITING, {
    async serve(elector, stopped) {
      const address = `unix:${here.folder}/http.sock`;
      url = `${here.folder}/http.sock`;
      return await serveElector(elector, { address, stopped });
    },
  });
  await here.wrote("up");
  expect(await here.run(`curl -sf --unix-socket ${url} http://localhost/leader > $0/leader`, { election: "curl" })).toBe(0);
  expect(JSON.parse(here.read("leader"))).toEqual({ leading: true });
  here.signal("SIGTERM");
  await ended;
  expect(await here.run(`curl -sf --unix-socket ${url} http://localhost/leader`, { election: "curl" })).toBe(7);
});

describe("run --occurrence", () => {
  test("is done once, and later hosts find it done", async () => {
    expect(await here.runOnce("k", "echo $LEASEHOLD_ELECTION >> $0/ran")).toBe(0);
    expect(await here.runOnce("k", "echo again >> $0/ran")).toBe(0);
    expect(await here.runOnce("l", "echo $LEASEHOLD_ELECTION >> $0/ran")).toBe(0);
    expect(here.read("ran")).toBe("e@k\ne@l\n");
    expect(here.said).toContain("'k' of 'e' is done already.");
  });

  test("claims the same occurrence as `oncePerOccurrence` with that key", async () => {
    await oncePerOccurrence({ store: here.store, name: "e", key: "k" }, () => "done");
    expect(await here.runOnce("k", "exit 9")).toBe(0);

    expect(await here.runOnce("l", "exit 0")).toBe(0);
    const outcome = await oncePerOccurrence({ store: here.store, name: "e", key: "l" }, () => "again");
    expect(outcome).toEqual({ ran: false, reason: "done" });
  });

  test("is exit code 70 if its last try has failed on another host", async () => {
    const failing = oncePerOccurrence({ store: here.store, name: "e", key: "k", tries: 1 }, () => {
      throw new TypeError("broken");
    });
    await expect(failing).rejects.toThrow("broken");

    expect(await here.runOnce("k", "exit 0")).toBe(70);
    expect(here.said).toContain("'k' of 'e' has failed (TypeError), and no host tries it again.");
  });

  test("prints nothing with --quiet on a host that has nothing to do", async () => {
    const quiet = { inform: () => {} };
    expect(await here.runOnce("k", "exit 0", quiet)).toBe(0);
    expect(await here.runOnce("k", "exit 0", quiet)).toBe(0);
    expect(here.said).toEqual([]);
  });

  test("is open again after a command that failed, or that was stopped, even with exit code 0", async () => {
    expect(await here.runOnce("k", "exit 3")).toBe(3);
    const ended = here.runOnce("k", `trap "exit 0" TERM; ${WAITING}`);
    await here.wrote("up");
    here.signal("SIGTERM");
    expect(await ended).toBe(143);
    expect(await here.runOnce("k", "exit 0")).toBe(0);
  });

  test("in progress on another host is a conflict, or ends after a wait", async () => {
    const first = here.runOnce("k", "echo up > $0/up; while [ ! -e $0/go ]; do sleep 0.05; done");
    await here.wrote("up");
    expect(await here.runOnce("k", "exit 9", { leaseDurationMs: 4_000 })).toBe(75);
    expect(here.said.at(-1)).toBe("'k' of 'e' is in progress elsewhere; it is open again 4 s after a crash.");
    const waiting = here.runOnce("k", "exit 9", { waitMs: 100_000 });
    await delay(600);
    writeFileSync(join(here.folder, "go"), "");
    expect([await first, await waiting]).toEqual([0, 0]);
  });

  test("ends its wait at a stop", async () => {
    const first = here.runOnce("k", `trap "exit 0" INT; ${WAITING}`);
    await here.wrote("up");
    const waiting = here.runOnce("k", "exit 9", { waitMs: 100_000 });
    here.signal("SIGINT");
    expect([await first, await waiting]).toEqual([130, 130]);
  });

  test.each(["wall", "monotonic"] as const)("expires if SIGKILL does not end the command, by the %s clock", async (clock) => {
    const ended = here.runOnce("k", WAITING, { leaseDurationMs: LEASE_MS, graceMs: 100 });
    await here.wrote("up");
    expect(await stopInVain(ended, clock)).toBe(70);
    expect(await here.runOnce("k", "exit 9")).toBe(75);
  });

  test.each([
    [0, 143],
    [5, 5],
  ])("whose command ended with %i ends with %i after SIGTERM if the store stops answering", async (code, expected) => {
    const occurrences = here.store.occurrences("e");
    const mute = vi.fn<() => Promise<never>>(() => new Promise(() => {}));
    Object.assign(occurrences, { complete: mute, release: mute });
    vi.spyOn(here.store, "occurrences").mockReturnValue(occurrences);
    const ended = here.runOnce("k", `exit ${code}`);
    while (mute.mock.calls.length === 0) await delay(10);
    here.signal("SIGTERM");
    expect(await ended).toBe(expected);
  });

  test("does not end before its command, even if that takes longer to end than a store may take at a stop", async () => {
    const setTimer = systemClock.setTimer.bind(systemClock);
    const timers = vi.spyOn(systemClock, "setTimer");
    timers.mockImplementation((callback, ms) => setTimer(callback, ms === STORE_MS ? 0 : ms));
    onTestFinished(() => timers.mockRestore());
    const ended = here.runOnce("k", `trap "sleep 0.5; echo ended > $0/ended; exit 6" TERM; ${WAITING}`);
    await here.wrote("up");
    here.signal("SIGTERM");
    await ended;
    expect(here.read("ended")).toBe("ended\n");
  });

  test("is an error in a broken store, and no command is started", async () => {
    const broken = here.store.occurrences("e");
    vi.spyOn(broken, "read").mockRejectedValue(new RangeError("broken"));
    vi.spyOn(broken, "acquire").mockRejectedValue(new RangeError("broken"));
    vi.spyOn(here.store, "occurrences").mockReturnValue(broken);
    await expect(here.runOnce("k", "echo started > $0/started")).rejects.toThrow("broken");
    expect(here.read("started")).toBe("");
  });
});
