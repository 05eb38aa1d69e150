import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { promisify } from "node:util";
import { isMissing } from "@leasehold/test-kit/backends/missing-backend";
import { CURL, GO, HAPROXY, programMissing, programPath, PYTHON, SYSTEMD } from "@leasehold/test-kit/backends/programs";
import { guardFrozen } from "@leasehold/test-kit/processes/frozen-guard";
import { describe, expect, onTestFinished, test } from "vitest";
import { documentedBlocks } from "./documented.ts";
import { RealSidecar } from "./real-sidecar.ts";

const execute = promisify(execFile);

/** What one request may take longer on a busy machine than on a quiet one. */
const SLACK_MS = 4_000;
const CHECK_INTERVAL_MS = 1_000;
const lacksCurl = await isMissing(programMissing(CURL));
const lacksPython = await isMissing(programMissing(PYTHON));
const lacksGo = await isMissing(programMissing(GO));

async function freshFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "leasehold-deploying-"));
  onTestFinished(async () => await rm(folder, { recursive: true, force: true, maxRetries: 5 }));
  return folder;
}

/** A frozen leader is followed after two thirds of a lease, when HAProxy has to have marked it down: after two seconds. */
async function sidecar(
  store: string,
  id: string,
  http: string,
  env: Readonly<Record<string, string>> = {},
): Promise<RealSidecar> {
  const args = ["--election", "search", "--id", id, "--http", http, "--lease", "6s"];
  const started = await RealSidecar.start(args, { LEASEHOLD_STORE: store, ...env });
  onTestFinished(async () => await started[Symbol.asyncDispose]());
  return started;
}

async function listening(server: Server, host: string, port = 0): Promise<number> {
  server.listen(port, host);
  await once(server, "listening");
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  return (server.address() as AddressInfo).port;
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

  /** Two hosts are two addresses of the loopback interface: whoever else is here has others. */
  readonly network = `127.${64 + Math.trunc(Math.random() * 128)}.${Math.trunc(Math.random() * 256)}`;

  async start(): Promise<void> {
    for (const host of ["11", "12"]) {
      const application = createServer((_, response) => void response.end(`web-${Number(host) - 10}`));
      await listening(application, `${this.network}.${host}`, 8_000);
    }
    const [text = ""] = await documentedBlocks("HAProxy", "haproxy");
    const file = join(await freshFolder(), "haproxy.cfg");
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

  /** Resolves once for two intervals only this host has answered: HAProxy takes every server for up until its first check. */
  async settled(by: string): Promise<void> {
    const beganMs = performance.now();
    for (;;) {
      const otherMs = this.passed.findLast((each) => each.by !== undefined && each.by !== by)?.atMs ?? beganMs;
      await this.next(by, otherMs + 2 * CHECK_INTERVAL_MS);
      if (!this.passed.some((each) => each.atMs > otherMs && each.by !== undefined && each.by !== by)) break;
    }
    this.passed.length = 0;
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

describe.skipIf(await isMissing(programMissing(HAPROXY)))("HAProxy, as the page configures it", () => {
  test("follows the leader through a crash and a freeze, and never reaches two", async () => {
    const balanced = new Balanced();
    const store = `sqlite://${await freshFolder()}/app.db`;
    const [first, second] = [`${balanced.network}.11:4040`, `${balanced.network}.12:4040`];
    const one = await sidecar(store, "web-1", first);
    await one.leads();
    const two = await sidecar(store, "web-2", second);
    await balanced.start();
    await balanced.settled("web-1");

    // A crash.
    one.kill("SIGKILL");
    const crashedMs = performance.now();
    await two.leads();
    const ledMs = performance.now();
    const { atMs: followedMs } = await balanced.next("web-2", crashedMs);
    expect(followedMs - ledMs).toBeLessThan(CHECK_INTERVAL_MS + SLACK_MS);
    const lastOfOne = balanced.passed.findLast(({ by }) => by === "web-1");
    expect((lastOfOne?.atMs ?? 0) - crashedMs).toBeLessThan(CHECK_INTERVAL_MS + SLACK_MS);

    // A freeze, and the thaw.
    const again = await sidecar(store, "web-1", first);
    two.kill("SIGSTOP");
    const frozenMs = performance.now();
    await again.leads();
    await balanced.next("web-1", frozenMs);
    // It waits in the queue of the frozen process, which answers it first of all.
    const asked = two.status("/leader");
    await delay(200);
    two.kill("SIGCONT");
    expect(await asked).toBe(503);
    await balanced.next("web-1", performance.now());

    const order = balanced.passed.map(({ by }) => by).filter((by) => by !== undefined);
    expect(order.filter((by, at) => by !== order[at - 1])).toEqual(["web-1", "web-2", "web-1"]);
  });
});

describe("a program asks", () => {
  /** Returns whether the program finds that the sidecar at its own address leads. */
  type Asks = (url: string) => Promise<boolean>;

  async function askedOfBoth(asks: Asks): Promise<readonly boolean[]> {
    const store = `sqlite://${await freshFolder()}/app.db`;
    const leader = await sidecar(store, "a", "127.0.0.1:0");
    await leader.leads();
    const standby = await sidecar(store, "b", "127.0.0.1:0");
    const answers = [await asks(leader.url), await asks(standby.url)];
    leader.kill("SIGKILL");
    await standby.leads();
    return [...answers, await asks(leader.url), await asks(standby.url)];
  }

  const succeeds = async (program: string, args: readonly string[]): Promise<boolean> =>
    await execute(program, args).then(
      () => true,
      (error: unknown) => {
        // It has to be a no, and no mistake of ours.
        expect(error).toMatchObject({ code: expect.any(Number) });
        return false;
      },
    );

  test.skipIf(lacksCurl)("by curl, and says that it is alive", async () => {
    const [ask = "", checkpoint = ""] = await documentedBlocks("Asking from any language", "sh");
    const sh = async (script: string, url: string): Promise<boolean> =>
      await succeeds("sh", ["-c", script.replace("http://127.0.0.1:4040", url).replace("$LEASEHOLD_TOKEN", "secret")]);
    expect(await askedOfBoth(async (url) => await sh(ask, url))).toEqual([true, false, false, true]);

    const alone = await sidecar(`sqlite://${await freshFolder()}/app.db`, "a", "127.0.0.1:0", { LEASEHOLD_TOKEN: "secret" });
    await alone.leads();
    expect(await sh(checkpoint, alone.url)).toBe(true);
    expect(await sh(checkpoint.replace("Bearer", "Basic"), alone.url)).toBe(false);
  });

  test.skipIf(lacksPython)("in Python", async () => {
    const [program = ""] = await documentedBlocks("Asking from any language", "python");
    const asks: Asks = async (url) =>
      await succeeds("python3", [
        "-c",
        `${program.replace("http://127.0.0.1:4040", url)}\nraise SystemExit(0 if leads() else 3)`,
      ]);
    expect(await askedOfBoth(asks)).toEqual([true, false, false, true]);
  });

  test.skipIf(lacksGo)("in Go", async () => {
    const [program = ""] = await documentedBlocks("Asking from any language", "go");
    const folder = await freshFolder();
    const main = '\nfunc main() {\n\tif !leads() {\n\t\tpanic("no")\n\t}\n}\n';
    const env = { ...process.env, GO111MODULE: "off" };
    const asks: Asks = async (url) => {
      const file = join(folder, "main.go");
      await writeFile(file, program.replace("http://127.0.0.1:4040", url) + main);
      await execute(await programPath(GO), ["build", "-o", join(folder, "leads"), file], { env });
      return await succeeds(join(folder, "leads"), []);
    };
    expect(await askedOfBoth(asks)).toEqual([true, false, false, true]);
  });
});

test.skipIf(await isMissing(programMissing(SYSTEMD)))("systemd takes the unit", async () => {
  const [unit = ""] = await documentedBlocks("systemd", "ini");
  const folder = await freshFolder();
  await writeFile(join(folder, "billing.service"), unit);
  const { stdout, stderr } = await execute(await programPath(SYSTEMD), ["verify", "--man=no", join(folder, "billing.service")]);
  expect(`${stdout}${stderr}`.split("\n").filter((line) => line.includes("billing.service"))).toEqual([]);
});
