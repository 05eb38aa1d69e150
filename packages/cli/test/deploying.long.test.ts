import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { createServer, type Server } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { promisify } from "node:util";
import { isMissing } from "@leasehold/test-kit/backends/missing-backend";
import { CURL, GO, HAPROXY, programMissing, programPath, PYTHON, SYSTEMD } from "@leasehold/test-kit/backends/programs";
import { guardFrozen } from "@leasehold/test-kit/processes/frozen-guard";
import { pauseTree } from "@leasehold/test-kit/processes/process-tree";
import { describe, expect, test, type TestContext } from "vitest";
import { documentedBlocks } from "./documented.ts";
import { RealSidecar } from "./real-sidecar.ts";

const execute = promisify(execFile);

/** HAProxy's configuration on the page. */
const CHECK_INTERVAL_MS = 1_000;
const TIMEOUT_MS = 600_000;

/** The tests are concurrent, so each has its own `onTestFinished`. */
type OnFinished = TestContext["onTestFinished"];

const lacksCurl = await isMissing(programMissing(CURL));
const lacksPython = await isMissing(programMissing(PYTHON));
const lacksGo = await isMissing(programMissing(GO));

async function freshFolder(onTestFinished: OnFinished): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "leasehold-deploying-"));
  onTestFinished(async () => await rm(folder, { recursive: true, force: true, maxRetries: 5 }));
  return folder;
}

/** A lease that outlasts a stall, and the two seconds in which HAProxy notices a frozen leader. */
async function sidecar(
  onTestFinished: OnFinished,
  store: string,
  id: string,
  http: string,
  env: Readonly<Record<string, string>> = {},
): Promise<RealSidecar> {
  const args = ["--election", "search", "--id", id, "--http", http, "--lease", "12s"];
  const started = await RealSidecar.start(args, { LEASEHOLD_STORE: store, ...env });
  onTestFinished(async () => await started[Symbol.asyncDispose]());
  return started;
}

/** Freezes a host between two writes. A process that is frozen within one keeps SQLite's lock, so that nobody else can lead. */
async function freezeBetweenWrites(host: RealSidecar): Promise<void> {
  for (;;) {
    await pauseTree(host.pid);
    if (!(await readFile("/proc/locks", "utf8")).includes(` ${host.pid} `)) return;
    host.kill("SIGCONT");
    await delay(10);
  }
}

async function listening(onTestFinished: OnFinished, server: Server, host: string, port: number): Promise<void> {
  server.listen(port, host);
  await once(server, "listening");
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
}

/** One answer that came through the load balancer. */
interface Passed {
  readonly atMs: number;
  /** The host that answered; undefined for the load balancer itself. */
  readonly by: string | undefined;
}

/** HAProxy as the page configures it, on addresses of this machine, with two applications behind it and a client before it. */
class Balanced {
  readonly passed: Passed[] = [];
  readonly #ended = new AbortController();

  /** Two hosts are two addresses of the loopback interface. Other tests on this machine have other addresses. */
  readonly network = `127.${64 + Math.trunc(Math.random() * 128)}.${Math.trunc(Math.random() * 256)}`;

  async start(onTestFinished: OnFinished): Promise<void> {
    for (const host of ["11", "12"]) {
      const application = createServer((_, response) => void response.end(`web-${Number(host) - 10}`));
      await listening(onTestFinished, application, `${this.network}.${host}`, 8_000);
    }
    const [text = ""] = await documentedBlocks("HAProxy", "haproxy");
    const file = join(await freshFolder(onTestFinished), "haproxy.cfg");
    await writeFile(file, text.replaceAll("10.0.0.", `${this.network}.`).replace("bind :8080", `bind ${this.network}.1:8080`));
    const program = await programPath(HAPROXY);
    await execute(program, ["-c", "-f", file]);
    const haproxy = spawn(program, ["-db", "-f", file], { stdio: "ignore" });
    const guard = guardFrozen(Number(haproxy.pid));
    onTestFinished(async () => {
      const ended = once(haproxy, "exit");
      haproxy.kill("SIGKILL");
      await ended;
      guard.kill("SIGKILL");
    });
    onTestFinished(() => this.#ended.abort());
    void this.#ask();
  }

  /** Resolves once only this host has answered for two intervals. Until its first check, HAProxy counts every server as up. */
  async settled(by: string): Promise<void> {
    const beganMs = performance.now();
    for (;;) {
      const otherMs = this.passed.findLast((each) => each.by !== undefined && each.by !== by)?.atMs ?? beganMs;
      await this.next(by, otherMs + 2 * CHECK_INTERVAL_MS);
      if (!this.passed.some((each) => each.atMs > otherMs && each.by !== undefined && each.by !== by)) break;
    }
  }

  /** Resolves once this host answers after two more intervals. */
  async stays(by: string): Promise<void> {
    await this.next(by, performance.now() + 2 * CHECK_INTERVAL_MS);
  }

  /** Returns the hosts that have answered, one after the other. */
  order(): readonly string[] {
    const all = this.passed.map(({ by }) => by).filter((by) => by !== undefined);
    return all.filter((by, at) => by !== all[at - 1]);
  }

  /** Resolves with the first answer of a host after an instant. */
  async next(by: string, sinceMs: number): Promise<Passed> {
    for (;;) {
      const found = this.passed.find((each) => each.by === by && each.atMs >= sinceMs);
      if (found) return found;
      await delay(10);
    }
  }

  async #ask(): Promise<void> {
    while (!this.#ended.signal.aborted) {
      const by = await fetch(`http://${this.network}.1:8080/`, { headers: { connection: "close" } }).then(
        async (response) => (response.ok ? await response.text() : undefined),
        () => undefined,
      );
      this.passed.push({ atMs: performance.now(), by });
      await delay(20);
    }
  }
}

describe.skipIf(await isMissing(programMissing(HAPROXY))).concurrent("HAProxy, as the page configures it", () => {
  test("follows the leader after a crash", { timeout: TIMEOUT_MS }, async ({ onTestFinished }) => {
    const { balanced, one, two } = await twoHosts(onTestFinished);
    one.kill("SIGKILL");
    await two.leads();
    await balanced.stays("web-2");
    expect(balanced.order()).toEqual(["web-1", "web-2"]);
  });

  test("follows the leader through a freeze, and not back", { timeout: TIMEOUT_MS }, async ({ onTestFinished }) => {
    const { balanced, one, two } = await twoHosts(onTestFinished);
    await freezeBetweenWrites(one);
    await two.leads();
    await balanced.next("web-2", performance.now());
    // This request waits in the queue of the frozen process, which answers it first.
    const asked = one.status("/leader");
    await delay(200);
    one.kill("SIGCONT");
    expect(await asked).toBe(503);
    await balanced.stays("web-2");
    expect(balanced.order()).toEqual(["web-1", "web-2"]);
  });

  /** Starts two hosts behind HAProxy, which has noticed that the first one leads. */
  async function twoHosts(onTestFinished: OnFinished): Promise<{
    readonly balanced: Balanced;
    readonly one: RealSidecar;
    readonly two: RealSidecar;
  }> {
    const balanced = new Balanced();
    const store = `sqlite://${await freshFolder(onTestFinished)}/app.db`;
    const one = await sidecar(onTestFinished, store, "web-1", `${balanced.network}.11:4040`);
    await one.leads();
    const two = await sidecar(onTestFinished, store, "web-2", `${balanced.network}.12:4040`);
    await balanced.start(onTestFinished);
    await balanced.settled("web-1");
    balanced.passed.length = 0;
    await balanced.next("web-1", performance.now());
    return { balanced, one, two };
  }
});

describe.concurrent("a program asks", () => {
  /** Returns the program's result: does the sidecar at its own address lead? */
  type Asks = (url: string) => Promise<boolean>;

  async function askedOfBoth(onTestFinished: OnFinished, asks: Asks): Promise<readonly boolean[]> {
    const store = `sqlite://${await freshFolder(onTestFinished)}/app.db`;
    const leader = await sidecar(onTestFinished, store, "a", "127.0.0.1:0");
    await leader.leads();
    const standby = await sidecar(onTestFinished, store, "b", "127.0.0.1:0");
    const answers = [await asks(leader.url), await asks(standby.url)];
    await leader.stop();
    await standby.leads();
    return [...answers, await asks(leader.url), await asks(standby.url)];
  }

  const succeeds = async (program: string, args: readonly string[]): Promise<boolean> =>
    await execute(program, args).then(
      () => true,
      (error: unknown) => {
        // The program must answer no. An error of the test must not count as a no.
        expect(error).toMatchObject({ code: expect.any(Number) });
        return false;
      },
    );

  test.skipIf(lacksCurl)("by curl, and reports that it is alive", { timeout: TIMEOUT_MS }, async ({ onTestFinished }) => {
    const [ask = "", checkpoint = ""] = await documentedBlocks("Asking from any language", "sh");
    const sh = async (script: string, url: string): Promise<boolean> =>
      await succeeds("sh", ["-c", script.replace("http://127.0.0.1:4040", url).replace("$LEASEHOLD_TOKEN", "secret")]);
    expect(await askedOfBoth(onTestFinished, async (url) => await sh(ask, url))).toEqual([true, false, false, true]);

    const store = `sqlite://${await freshFolder(onTestFinished)}/app.db`;
    const alone = await sidecar(onTestFinished, store, "a", "127.0.0.1:0", { LEASEHOLD_TOKEN: "secret" });
    await alone.leads();
    expect(await sh(checkpoint, alone.url)).toBe(true);
    expect(await sh(checkpoint.replace("Bearer", "Basic"), alone.url)).toBe(false);
  });

  test.skipIf(lacksPython)("in Python", { timeout: TIMEOUT_MS }, async ({ onTestFinished }) => {
    const [program = ""] = await documentedBlocks("Asking from any language", "python");
    const asks: Asks = async (url) =>
      await succeeds("python3", [
        "-c",
        `${program.replace("http://127.0.0.1:4040", url)}\nraise SystemExit(0 if leads() else 3)`,
      ]);
    expect(await askedOfBoth(onTestFinished, asks)).toEqual([true, false, false, true]);
  });

  test.skipIf(lacksGo)("in Go", { timeout: TIMEOUT_MS }, async ({ onTestFinished }) => {
    const [program = ""] = await documentedBlocks("Asking from any language", "go");
    const folder = await freshFolder(onTestFinished);
    const main = '\nfunc main() {\n\tif !leads() {\n\t\tpanic("no")\n\t}\n}\n';
    const env = { ...process.env, GO111MODULE: "off" };
    const asks: Asks = async (url) => {
      const file = join(folder, "main.go");
      await writeFile(file, program.replace("http://127.0.0.1:4040", url) + main);
      await execute(await programPath(GO), ["build", "-o", join(folder, "leads"), file], { env });
      return await succeeds(join(folder, "leads"), []);
    };
    expect(await askedOfBoth(onTestFinished, asks)).toEqual([true, false, false, true]);
  });
});

test.skipIf(await isMissing(programMissing(SYSTEMD)))("systemd accepts the unit", async ({ onTestFinished }) => {
  const [unit = ""] = await documentedBlocks("systemd", "ini");
  const folder = await freshFolder(onTestFinished);
  await writeFile(join(folder, "billing.service"), unit);
  const { stdout, stderr } = await execute(await programPath(SYSTEMD), ["verify", "--man=no", join(folder, "billing.service")]);
  expect(`${stdout}${stderr}`.split("\n").filter((line) => line.includes("billing.service"))).toEqual([]);
});
